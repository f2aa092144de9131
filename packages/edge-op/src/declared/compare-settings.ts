import { pageSettings } from "@edge-op/op-auth/runtime/deployment";
import type { Setting } from "@edge-op/shared/config/setting";
import { workerSettings } from "@edge-op/shared/config/settings";
import type { Connection } from "../connection/connection.ts";
import { usageFailure } from "../console/failure.ts";

/** A setting that is not what is declared. */
export interface SettingDifference {
  readonly setting: string;
  /** The text in force. */
  readonly from: string;
  readonly to: string;
}

export interface ComparedSettings {
  readonly settings: readonly SettingDifference[];
  /** Declared settings that the deployment does not report: those of pages. */
  readonly unreported: readonly string[];
}

const settings: readonly Setting[] = [...Object.values(workerSettings), ...Object.values(pageSettings)];

/**
 * **Compares declared settings with the deployment's.** They are variables of its Workers, so only `npm run deploy` changes them. Scope
 * `admin:shards`.
 */
export async function compareSettings(
  connection: Connection,
  declared: Readonly<Record<string, string>>,
): Promise<ComparedSettings> {
  if (Object.keys(declared).length === 0) return { settings: [], unreported: [] };
  const known = Object.entries(declared).map(([name, to]) => {
    const setting = settings.find(({ variable }) => variable === name);
    if (setting === undefined) throw usageFailure(`settings.${name}: there is no such variable of a Worker.`);
    try {
      setting.read(to);
    } catch (error) {
      throw usageFailure(`settings.${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    return { name, to, fallback: setting.default };
  });
  const { body } = await connection.send({ method: "GET", path: "/deployment" });
  const reported = (body["settings"] ?? {}) as Readonly<Record<string, string | null>>;
  const isReported = ({ name }: { readonly name: string }) => Object.hasOwn(reported, name);
  return {
    settings: known.filter(isReported).flatMap(({ name, to, fallback }) => {
      const from = reported[name] ?? fallback ?? "";
      return from === to ? [] : [{ setting: name, from, to }];
    }),
    unreported: known.filter((each) => !isReported(each)).map(({ name }) => name),
  };
}

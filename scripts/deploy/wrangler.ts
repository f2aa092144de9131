import { spawn } from "node:child_process";
import { once } from "node:events";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { findLack } from "./permissions.ts";
import { Refusal } from "./refusal.ts";

export interface WranglerAccess {
  readonly token: string;
  readonly account: string;
  readonly verbose: boolean;
}

/** `null` deletes a secret. */
export type SecretTexts = Readonly<Record<string, string | null>>;

/**
 * **Runs the pinned wrangler.** Its output is shown if it fails, or always with `--verbose`. Secrets reach it through a pipe, so no file contains
 * one, however the run ends.
 */
export async function runWrangler(
  command: readonly string[],
  access: WranglerAccess,
  secrets?: SecretTexts,
): Promise<void> {
  const environment = { CLOUDFLARE_API_TOKEN: access.token, CLOUDFLARE_ACCOUNT_ID: access.account };
  const { code, output } = await spawnWrangler(command, environment, secrets && JSON.stringify(secrets));
  const lack = code === 0 ? undefined : findLack(output);
  if (access.verbose || (code !== 0 && lack === undefined)) console.log(output.trimEnd());
  if (lack !== undefined) throw new Error(lack);
  if (code !== 0) throw new Error(`wrangler ${command.slice(0, 3).join(" ")} failed with status ${code}`);
}

/** Runs it in this terminal until it ends, with its output as it is. */
export async function showWrangler(command: readonly string[], { token, account }: WranglerAccess): Promise<number> {
  const env = { ...process.env, CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: account };
  const child = spawn("wrangler", command, { cwd: repositoryRoot, stdio: "inherit", env });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}

/** The token in the environment, else that of `wrangler login`. */
export async function findToken(): Promise<string> {
  const given = process.env["CLOUDFLARE_API_TOKEN"];
  if (given) return given;
  const { code, output } = await spawnWrangler(["auth", "token", "--json"], {});
  const token = /"token"\s*:\s*"([^"]+)"/.exec(output)?.[1];
  if (code === 0 && token !== undefined) return token;
  throw new Refusal([
    "No access to Cloudflare: run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN (docs/operating/deploy.md lists its permissions).",
  ]);
}

/** With an input, the last argument of wrangler is a pipe of the shell, because Node's pipe is a socket, which has no path. */
function spawnWrangler(command: readonly string[], environment: Record<string, string>, input?: string) {
  const [program, args] =
    input === undefined
      ? (["wrangler", command] as const)
      : (["sh", ["-c", 'cat | exec wrangler "$@" /dev/stdin', "sh", ...command]] as const);
  return new Promise<{ readonly code: number; readonly output: string }>((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: repositoryRoot,
      stdio: ["pipe", "pipe", "pipe"],
      // wrangler must not ask questions: everything was decided before the first call.
      env: { ...process.env, ...environment, CI: "true", FORCE_COLOR: "0", WRANGLER_LOG_SANITIZE: "true" },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", reject);
    // If wrangler ends before it reads, its exit status shows this.
    child.stdin.once("error", () => undefined).end(input);
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

import type { KeyResource } from "../api/resources.ts";
import { defineChange } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import { Actions, Done, Head, timeText } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";

const keysPath = "/console/keys";
const scope = "admin:keys";

interface KeyList {
  readonly keys: readonly KeyResource[];
}

/** The keys as bars on one scale of time, with the same times as text. */
const timeline = definePage({
  path: keysPath,
  scope,
  operations: ["listKeys"],
  async show({ api, t, query, context }) {
    const { keys } = await api.get<KeyList>("/keys");
    const sorted = keys.toSorted((one, other) => one.alg.localeCompare(other.alg) || one.sign_from - other.sign_from);
    const first = Math.min(...keys.map(({ publish_at: at }) => at));
    const last = Math.max(...keys.map(({ retire_at: at }) => at));
    const scale: Scale = (seconds) => ((seconds - first) / Math.max(1, last - first)) * 1000;
    const nowSeconds = context.arrivedAtMs / 1000;
    const children = (
      <>
        <Head title={t("keys.title")} text={t("keys.text")} />
        <Done t={t} query={query} />
        <ul class="list">
          {sorted.map((key) => (
            <OneKey t={t} key={key.kid} data={key} scale={scale} now={nowSeconds} />
          ))}
        </ul>
        <Actions actions={[{ href: `${keysPath}/rotate`, text: t("key.rotate") }]} />
      </>
    );
    return { title: t("keys.title"), children };
  },
});

type Scale = (seconds: number) => number;

function OneKey({
  t,
  data: { kid, alg, state, publish_at: publishAt, sign_from: from, sign_until: until, retire_at: retireAt },
  scale,
  now,
}: {
  readonly t: PageCall["t"];
  readonly data: KeyResource;
  readonly scale: Scale;
  readonly now: number;
}) {
  return (
    <li class="stacked">
      <div>
        <strong>
          {alg} {kid}
        </strong>{" "}
        <span class="muted small">{t(`key.state.${state as "active"}`)}</span>
        <svg class="bar" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
          <rect
            x={scale(publishAt)}
            y="8"
            width={Math.max(1, scale(retireAt) - scale(publishAt))}
            height="4"
            class="span"
          />
          <rect x={scale(from)} y="2" width={Math.max(1, scale(until) - scale(from))} height="16" class="signs" />
          <rect x={scale(now)} y="0" width="3" height="20" class="now" />
        </svg>
        <div class="muted small">{t("key.published", { time: timeText(publishAt) ?? "" })}</div>
        <div class="muted small">{t("key.signs", { from: timeText(from) ?? "", until: timeText(until) ?? "" })}</div>
        <div class="muted small">{t("key.verifies", { time: timeText(retireAt) ?? "" })}</div>
      </div>
      <a class="button quiet slim danger" href={`${keysPath}/${encodeURIComponent(kid)}/revoke`}>
        {t("key.revoke")}
        <span class="unseen detail"> {kid}</span>
      </a>
    </li>
  );
}

const back = () => keysPath;

const rotate = defineChange({
  path: `${keysPath}/rotate`,
  scope,
  operations: ["rotateKey"],
  title: "key.rotate",
  ends: "key.rotateEnds",
  fields: [{ name: "alg", label: "key.alg", kind: "choice", options: [["ES256"], ["RS256"], ["PS256"], ["EdDSA"]] }],
  find: async () => ({ name: "" }),
  request: (_, { alg }) => ({ method: "POST", path: "/keys", body: { alg } }),
  done: back,
  back,
});

const revoke = defineChange({
  path: `${keysPath}/:kid/revoke`,
  scope,
  operations: ["readKey", "revokeKey"],
  kind: "key.kind",
  title: "key.revoke",
  ends: "key.revokeEnds",
  isDangerous: true,
  async find({ api, parameter }) {
    const { alg, kid } = await api.get<KeyResource>(`/keys/${encodeURIComponent(parameter("kid"))}`);
    return { name: `${alg} ${kid}` };
  },
  request: ({ parameter }) => ({ method: "DELETE", path: `/keys/${encodeURIComponent(parameter("kid"))}` }),
  done: back,
  back,
});

export const keyPages: readonly ConsoleRoute[] = [timeline, rotate, revoke];

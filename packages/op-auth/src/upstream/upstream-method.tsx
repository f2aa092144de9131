import { acrValuesOf, upstreamMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Upstream, UpstreamDocument } from "@edge-op/shared/upstreams/upstream";
import { listIdentities } from "@edge-op/shared/users/identities";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { SignInMethod, SignInMethodView } from "../step/sign-in-method.ts";
import type { StepRequest } from "../step/step.ts";
import { beginUpstream } from "./begin-upstream.ts";

/**
 * **Sign-in at an upstream provider**: a button for each. A known account is offered those that it is connected with. Cost of the page: 1 D1 call for
 * a known account in a deployment with upstream providers, else 0.
 */
export const upstreamMethod: SignInMethod = {
  name: "upstream",
  proofMethods: upstreamMethods,
  acrValues: [...new Set(upstreamMethods.flatMap(acrValuesOf))],
  field: "upstream",
  scripts: [],
  placement: "button",
  render: async (at, view) => {
    const offered = await offeredUpstreams(at, view);
    return offered.length === 0 ? undefined : <UpstreamButtons view={view} upstreams={offered} />;
  },
  verify: beginUpstream,
};

async function offeredUpstreams(
  { context, isolate }: StepRequest,
  { account, asked, discovered }: SignInMethodView,
): Promise<readonly Upstream[]> {
  if (account === undefined && asked === "password") return discovered === undefined ? [] : [discovered];
  const active = await isolate.upstreams.list(context);
  if (account === undefined || active.length === 0) return active.filter(({ document }) => !document.link_only);
  const identities = await listIdentities(context.env.DB, account.sub);
  return active.filter(({ upstreamId }) => identities.some((identity) => identity.upstreamId === upstreamId));
}

interface Logo {
  /** The side of its square. */
  readonly size: number;
  /** Each shape in its colour. */
  readonly shapes: Readonly<Record<string, string>>;
}

/**
 * **The logos of providers whose owner has fixed shape and colours for a button of its own colour**, drawn to them. Others have the initial of their
 * name: Apple and GitHub allow their own files alone.
 *
 * @see https://developers.google.com/identity/branding-guidelines
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/howto-add-branding-in-apps
 */
const logos: Readonly<Partial<Record<UpstreamDocument["kind"], Logo>>> = {
  google: {
    size: 48,
    shapes: {
      "#ea4335": "M2.4 13.5A24 24 0 0 1 40.1 6.2L33.6 13.3A14.4 14.4 0 0 0 11.1 17.7z",
      "#fbbc05": "M2.4 34.5A24 24 0 0 1 2.4 13.5L11.1 17.7A14.4 14.4 0 0 0 11.1 30.3z",
      "#34a853": "M2.4 34.5A24 24 0 0 0 40.1 41.8L33.6 34.7A14.4 14.4 0 0 1 11.1 30.3z",
      "#4285f4": "M24 20H47.7A24 24 0 0 1 40.1 41.8L33.6 34.7A14.4 14.4 0 0 0 37.5 29H24z",
    },
  },
  microsoft: {
    size: 21,
    shapes: {
      "#f25022": "M0 0h10v10H0z",
      "#7fba00": "M11 0h10v10H11z",
      "#00a4ef": "M0 11h10v10H0z",
      "#ffb900": "M11 11h10v10H11z",
    },
  },
};

function ProviderMark({ document: { kind, name } }: Pick<Upstream, "document">) {
  const logo = logos[kind];
  if (logo === undefined) {
    return <span class="mark letter" aria-hidden="true" data-letter={[...name][0]?.toUpperCase()} />;
  }
  return (
    <svg class="provider" viewBox={`0 0 ${logo.size} ${logo.size}`} aria-hidden="true">
      {Object.entries(logo.shapes).map(([color, shape]) => (
        <path fill={color} d={shape} />
      ))}
    </svg>
  );
}

/** Several providers stand beside each other by their names. */
function UpstreamButtons({
  view,
  upstreams,
}: {
  readonly view: SignInMethodView;
  readonly upstreams: readonly Upstream[];
}) {
  const { form, formId, t } = view;
  const buttons = upstreams.map(({ upstreamId, document }) => {
    const { name } = document;
    const text = t("upstream.continue", { provider: name });
    const shown = upstreams.length === 1 ? { children: text } : { "aria-label": text, children: <bdi>{name}</bdi> };
    const { children, ...label } = shown;
    const id = `upstream-${upstreamId}`;
    return (
      <button
        type="submit"
        class="quiet"
        name="upstream"
        value={upstreamId}
        id={id}
        form={formId}
        formnovalidate
        {...label}
      >
        <ProviderMark document={document} />
        <span>{children}</span>
      </button>
    );
  });
  if (formId !== undefined) return <div class="providers">{buttons}</div>;
  return (
    <form method="post" action={form.action} class="providers">
      <HiddenFields fields={form.fields} />
      {buttons}
    </form>
  );
}

import { acrValuesOf, upstreamMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
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

/** Several providers stand beside each other by their names. Each has the initial of its name, because a logo is drawn by its owner's rules. */
function UpstreamButtons({
  view,
  upstreams,
}: {
  readonly view: SignInMethodView;
  readonly upstreams: readonly Upstream[];
}) {
  const { form, formId, t } = view;
  const buttons = upstreams.map(({ upstreamId, document: { name } }) => {
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
        <span class="mark letter" aria-hidden="true" data-letter={[...name][0]?.toUpperCase()} />
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

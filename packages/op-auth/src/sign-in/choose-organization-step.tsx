import { ClientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { accountName, displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { Form } from "@edge-op/shared/http/read-form";
import type { OwnOrganization } from "@edge-op/shared/users/organizations";
import type { User } from "@edge-op/shared/users/user";
import { describeClient } from "../pages/describe-client.tsx";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { ChosenOrganization, Purpose } from "../step/flow.ts";
import type {
  Refusal,
  Step,
  StepForm,
  StepInput,
  StepPageRequest,
  StepRequest,
  StepResult,
  StepState,
} from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";

/**
 * **The choice of an organisation** (ADR 72), where the client's policy requires one and the request names none. The flow's sealed purpose then
 * contains it, and no page or form of that flow changes it. Whether its person is a member is decided with the code.
 */
export const organizationStep: Step = {
  name: "organization",
  methods: [],
  isForPerson: true,
  writes: false,
  state: organizationState,
  page: showOrganizations,
  submit: submitOrganization,
};

/** Who is in no organisation, or not in that of the request; the same for one that is unknown or disabled. */
export const notMember: Refusal = { kind: "refuse", code: "access_denied", reason: "organization-not-member" };

/**
 * **Whether the person must choose**: the only organisation of a person is chosen without a page. With `prompt=none` the client may name one; no
 * session is selected, so the error is not `account_selection_required`.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthError
 */
function organizationState({ flow: { purpose }, facts: { person, organizations }, policy }: StepInput): StepState {
  if (policy.choosesOrganization !== true || person === undefined) return { kind: "done" };
  const chosen = choiceOf(purpose);
  if (chosen?.sub === person.sub) return { kind: "done" };
  if (chosen !== undefined) return { kind: "choose", organization: undefined };
  const [only, ...others] = organizations ?? [];
  if (only === undefined) return notMember;
  if (others.length > 0) return { kind: "needed", error: "interaction_required" };
  return { kind: "choose", organization: { orgId: only.orgId, sub: person.sub } };
}

function choiceOf(purpose: Purpose): ChosenOrganization | undefined {
  return purpose.kind === "authorize" ? purpose.organization : undefined;
}

/** The person, as long as the flow waits for their choice. */
async function findChooser({ policy, flow, person }: StepRequest): Promise<User | undefined> {
  const user = policy.choosesOrganization === true ? (await person())?.user : undefined;
  return user !== undefined && choiceOf(flow.purpose)?.sub !== user.sub ? user : undefined;
}

/** **The page that lists the person's organisations.** Cost: 1 object call and 1 D1 call. */
async function showOrganizations(at: StepPageRequest): Promise<Response> {
  const { context, isolate, authorization, form, restart } = at;
  const user = await findChooser(at);
  if (authorization === undefined || user === undefined) return redirect(restart);
  const [frame, client, organizations] = await Promise.all([
    stepFrame(at),
    describeClient(context, isolate, authorization.client),
    isolate.users.findOrganizations(context, user.sub),
  ]);
  const { t } = frame;
  const page = (
    <Layout {...frame} title={t("organization.title")} account>
      <div class="head">
        <ClientMark name={client.name} logoUri={client.logoUri} />
        <h1>{t("organization.title")}</h1>
        <p class="muted">{t("select.to", { client: client.name })}</p>
        <Person name={displayName(user)} text={accountName(user)} />
      </div>
      <OrganizationList frame={frame} form={form} organizations={organizations} />
    </Layout>
  );
  return respondPage(page, { formLeaves: true });
}

/** Each a button: the page works without a script. */
function OrganizationList(props: {
  readonly frame: AuthPageFrame;
  readonly form: StepForm;
  readonly organizations: readonly OwnOrganization[];
}) {
  const { form, organizations } = props;
  return (
    <form method="post" action={form.action}>
      <HiddenFields fields={form.fields} />
      <ul class="list accounts" id="organizations">
        {organizations.map(({ orgId, name }) => (
          <li>
            <button type="submit" name="organization" value={orgId} class="quiet pick">
              <span class="avatar" aria-hidden="true">
                {[...name][0]?.toUpperCase()}
              </span>
              <strong>
                <bdi>{name}</bdi>
              </strong>
            </button>
          </li>
        ))}
      </ul>
    </form>
  );
}

/** **The choice**, if the flow has none. An organisation that has gone meanwhile leads to the page again. Cost: 1 object call and 1 D1 call. */
async function submitOrganization(at: StepRequest, form: Form): Promise<StepResult> {
  const user = await findChooser(at);
  if (user === undefined) return { kind: "done" };
  const organizations = await at.isolate.users.findOrganizations(at.context, user.sub);
  const chosen = organizations.find(({ orgId }) => orgId === form.get("organization"));
  if (chosen === undefined) return { kind: "go to", step: "organization" };
  return { kind: "done", organization: { orgId: chosen.orgId, sub: user.sub } };
}

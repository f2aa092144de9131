import { ClientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { accountName, displayName, Person } from "@edge-op/pages/person";
import { respondPage } from "@edge-op/pages/respond-page";
import { type Client, isPublicClient } from "@edge-op/shared/clients/client";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { MappedAttribute } from "@edge-op/shared/users/attributes";
import type { User } from "@edge-op/shared/users/user";
import { ClientLinks, type ClientPages, describeClient } from "../pages/describe-client.tsx";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import type { StepForm, StepPageRequest } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { AllowanceList } from "./allowance-list.tsx";
import { adminResource } from "./allowances.ts";
import { type DescribedDetail, describeDetails } from "./describe-details.ts";
import { accessOf, releasedAttributes, requestedAllowances } from "./requested-access.ts";

interface ConsentView {
  readonly form: StepForm;
  readonly client: ClientPages & { readonly name: string; readonly logoUri: string | undefined };
  /** Present for a client that no administrator has registered. */
  readonly source: ClientSource | undefined;
  readonly user: User;
  /** The name of the organisation for which the person is to act. */
  readonly organization: string | undefined;
  /** Scope values, `claim:<name>`, and resources with their scope values. */
  readonly asked: readonly string[];
  readonly resources: readonly Resource[];
  readonly attributes: readonly MappedAttribute[];
  readonly details: readonly DescribedDetail[];
}

/**
 * **The consent page**: the client, the requested access and the person who is to allow it. Cost: 1 object call; a logo as in describe-client.tsx.
 */
export async function showConsent(at: StepPageRequest): Promise<Response> {
  const { context, isolate, authorization, form } = at;
  const person = await at.person();
  if (authorization === undefined || person === undefined) throw new Error("nobody to ask");
  const { client, request: asking } = authorization;
  const frame = await stepFrame(at);
  const asked = accessOf(requestedAllowances(asking));
  const [membership, resources, attributes] = await Promise.all([
    asking.organization && isolate.users.findMembership(context, asking.organization, person.user.sub),
    isolate.resources.findAll(context, asking.resources),
    releasedAttributes(at, client.clientId, asked, person.user),
  ]);
  const view = {
    form,
    client: await describeClient(context, isolate, client),
    source: clientSource(client, asking.redirectUri),
    user: person.user,
    organization: membership ? membership.name : undefined,
    ...{ asked, attributes, resources: [...resources, adminResource(context.settings.issuer, frame.t)] },
    details: describeDetails(context.settings, frame.t, asking.authorizationDetails),
  };
  return respondPage(<ConsentPage frame={frame} view={view} />, { formLeaves: true });
}

export function ConsentPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: ConsentView }) {
  const { t } = frame;
  const { client, user } = view;
  return (
    <Layout {...frame} title={t("consent.title")}>
      <div class="head">
        <ClientMark name={client.name} logoUri={client.logoUri} />
        <h1>{t("consent.title")}</h1>
        <Person name={displayName(user)} text={t("consent.as", { user: accountName(user) })} />
        <button type="submit" form="decide" name="decision" value="other" class="link" id="not-you">
          {t("consent.notYou")}
        </button>
      </div>
      {view.source && <Source t={t} source={view.source} />}
      <p class="asks">{t("consent.asks", { client: client.name })}</p>
      {view.organization !== undefined && (
        <p class="note" id="organization">
          {t("consent.organization", { organization: view.organization })}
        </p>
      )}
      <AllowanceList t={t} {...view} />
      <form method="post" action={view.form.action} class="actions" id="decide">
        <HiddenFields fields={view.form.fields} />
        <button type="submit" name="decision" value="allow" id="allow">
          {t("consent.allow")}
        </button>
        <button type="submit" name="decision" value="deny" class="quiet" id="deny">
          {t("consent.deny")}
        </button>
      </form>
      {view.source && (
        <p class="muted small center" id="redirect-host">
          {view.source.redirectHost === undefined
            ? t("consent.toDevice")
            : t("consent.toHost", { host: view.source.redirectHost })}
        </p>
      )}
      <p class="muted small center">
        {t("consent.revocable")} <a href="/account/applications">{t("area.applications")}</a>
      </p>
      <ClientLinks t={t} client={client} />
    </Layout>
  );
}

/** People recognise hosts better than names: anyone may give an application any name. */
function Source({ t, source }: { readonly t: AuthTranslator; readonly source: ClientSource }) {
  return (
    <>
      <p class="note source" id="client-source">
        {source.host === undefined ? t("consent.selfRegistered") : t("consent.fromHost", { host: source.host })}
      </p>
      {source.isLocalOnly && (
        <p class="note bad" id="local-only">
          {t("consent.localOnly")}
        </p>
      )}
    </>
  );
}

/**
 * **The origin of a client that no administrator has registered**, as shown to people: the host that its metadata come from, the host that they are
 * redirected to, and whether any program on their device can impersonate it.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-02#section-8.5
 */
interface ClientSource {
  /** The host of the metadata document; `undefined` for a client that registered itself. */
  readonly host: string | undefined;
  /** `undefined` if the redirect URI belongs to a program on the device. */
  readonly redirectHost: string | undefined;
  /** All of its redirect URIs are on the device, and it has no key. */
  readonly isLocalOnly: boolean;
}

function clientSource(client: Client, redirectUri: string): ClientSource | undefined {
  if (client.origin === undefined) return undefined;
  return {
    host: client.origin === "document" ? new URL(client.clientId).hostname : undefined,
    redirectHost: remoteHost(redirectUri),
    isLocalOnly: isPublicClient(client) && client.metadata.redirect_uris.every((uri) => remoteHost(uri) === undefined),
  };
}

function remoteHost(uri: string): string | undefined {
  const { protocol, hostname } = new URL(uri);
  return protocol === "https:" ? hostname : undefined;
}

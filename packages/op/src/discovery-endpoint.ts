import { keyAlgorithms } from "@edge-op/protocol/jwt/key-algorithms";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { admitsSomeHost, type HostList } from "@edge-op/shared/clients/document-policy";
import { limits } from "@edge-op/shared/config/limits";
import type { Settings } from "@edge-op/shared/config/settings";
import type { JsonResponse } from "@edge-op/shared/http/json-response";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { within } from "@edge-op/shared/runtime/deadline";
import { log } from "@edge-op/shared/runtime/log";
import type { FrontDoorIsolate, OwnPathsEnv } from "./isolate.ts";
import { JsonDocument } from "./json-document.ts";
import { providerMetadata } from "./provider-metadata.ts";
import type { PublishedKeys } from "./published-keys.ts";

/** After a failure, discovery responds from memory for this long before it calls a store again. */
const retryMs = 10_000;

/** The document, by settings: a deployment has one object of settings. */
interface OfDeployment {
  /** The part that administrators decide; absent until it is known. */
  decided: HostList | undefined;
  document?: { readonly of: HostList | undefined; readonly text: JsonDocument };
}

/**
 * **Discovery**: a document that depends on the settings, the hosts of metadata documents that administrators admit (ADR 47), and the claims to which
 * they map attributes. Clients may cache it for an hour and revalidate it by its `ETag`. While stores do not respond, the last known state
 * counts, initially that of the settings. Cost warm: 0 calls under a lease, else 1 object call.
 */
export class Discovery {
  readonly #isolate: Pick<FrontDoorIsolate, "revocation" | "documentHosts">;
  readonly #deployments = new WeakMap<Settings, OfDeployment>();
  #lookNotBeforeMs = 0;

  constructor(isolate: Pick<FrontDoorIsolate, "revocation" | "documentHosts">) {
    this.#isolate = isolate;
  }

  async respond(context: RequestContext<OwnPathsEnv>, request: ReceivedRequest): Promise<JsonResponse> {
    const { settings } = context;
    const deployment = this.#deploymentOf(settings);
    const { revocation, documentHosts } = this.#isolate;
    if (revocation.isControlConfirmed(context) && documentHosts.isHeld(context)) {
      deployment.decided = await documentHosts.list(context);
    } else if (context.arrivedAtMs >= this.#lookNotBeforeMs) {
      await this.#look(context, deployment);
    }
    const { decided: of, document } = deployment;
    if (document !== undefined && document.of === of) return document.text.respond(request);
    const metadata = providerMetadata(settings, admitsSomeHost(settings, of?.hosts), of?.claims);
    const text = await JsonDocument.create(metadata, "public, max-age=3600");
    deployment.document = { of, text };
    return text.respond(request);
  }

  /** Reads the state; clients need metadata even if the newest change is unknown. */
  async #look(context: RequestContext<OwnPathsEnv>, deployment: OfDeployment): Promise<void> {
    const read = async () => {
      await this.#isolate.revocation.confirmControl(context);
      return this.#isolate.documentHosts.list(context);
    };
    try {
      deployment.decided = await within(limits.discoveryMs, read(), () => {
        throw new UnavailableError("discovery", new Error(`no response within ${limits.discoveryMs} ms`));
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#lookNotBeforeMs = context.arrivedAtMs + retryMs;
      log("discovery-unconfirmed", { store: error.store, requestId: context.requestId });
    }
  }

  #deploymentOf(settings: Settings): OfDeployment {
    const known = this.#deployments.get(settings);
    if (known !== undefined) return known;
    const deployment: OfDeployment = { decided: undefined };
    this.#deployments.set(settings, deployment);
    return deployment;
  }
}

/**
 * **`GET /jwks`**: the announced, active and retiring keys, so that a relying party knows a key before its first signature and until its last one has
 * expired; and only the active encryption keys (ADR 40). Relying parties may cache them for the time that K1 includes; a revoked key is missing from
 * the next response. Cost warm: 0 calls under a lease, else 1 object call that confirms that no key was revoked.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7517#section-5
 */
export async function jwksEndpoint(
  context: RequestContext<OwnPathsEnv>,
  isolate: FrontDoorIsolate,
  published: PublishedKeys,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  if (!isolate.revocation.isControlConfirmed(context)) await confirmKeys(context, isolate);
  // The metadata names every algorithm, so each of them has a key as soon as somebody reads the key set.
  const schedule = await isolate.schedule.currentWith(context, keyAlgorithms);
  const document = await published.at(schedule, context.arrivedAtMs);
  return document.respond(request);
}

/** Relying parties need keys even if the newest change is unknown: if no shard responds, the copy is served. */
async function confirmKeys(context: RequestContext<OwnPathsEnv>, isolate: FrontDoorIsolate): Promise<void> {
  try {
    await isolate.revocation.confirmControl(context);
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    log("jwks-unconfirmed", { store: error.store, requestId: context.requestId });
  }
}

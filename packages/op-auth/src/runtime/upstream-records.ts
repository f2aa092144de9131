import type { BrandingRecord } from "@edge-op/shared/config/branding-record";
import { isolateMemory, limits } from "@edge-op/shared/config/limits";
import type { ControlView } from "@edge-op/shared/control/control-view";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { openSealed } from "@edge-op/shared/secrets/seal";
import { FetchedDocuments } from "@edge-op/shared/storage/fetched-documents";
import { ReadThrough } from "@edge-op/shared/storage/read-through";
import {
  storedUpstreams,
  type Upstream,
  type UpstreamList,
  upstreamSeal,
  upstreamsId,
} from "@edge-op/shared/upstreams/upstream";
import type { AuthEnv } from "./auth-env.ts";

/**
 * **Finds upstream providers and the branding in force**: one record, read through memory (1 h), KV (1 h) and D1, kept current by the control
 * version. Disabled providers are not found. Cost warm: 0.
 */
export class UpstreamDirectory {
  readonly #lists: ReadThrough<UpstreamList>;
  readonly #control: ControlView;

  constructor(control: ControlView) {
    this.#control = control;
    this.#lists = ReadThrough.ofWhole<UpstreamList>(control, { ...storedUpstreams, maxBytes: isolateMemory.upstreams });
  }

  /** {@link ReadThrough.readAhead}: every page of a flow may show them. */
  readAhead(context: RequestContext<AuthEnv>): Promise<void> {
    return this.#lists.readAhead(context, upstreamsId, true);
  }

  /**
   * The branding that administrators have saved, as of the control version that the isolate knows. It is never a reason to refuse a page: without
   * an answer, the settings. Cost: 0 where the record is in memory or was read ahead; else that of a copy.
   */
  async branding(context: RequestContext<AuthEnv>): Promise<BrandingRecord | undefined> {
    try {
      await this.readAhead(context);
      const isJudged = this.#control.version !== undefined;
      const list =
        this.#lists.peek(context, upstreamsId) ?? (isJudged ? await this.#lists.find(context, upstreamsId) : undefined);
      if (list === undefined || list.branding !== undefined) return list?.branding ?? undefined;
      return (await this.#lists.reload(context, upstreamsId))?.branding ?? undefined;
    } catch {
      return this.heldBranding(context);
    }
  }

  /** The same, without a call: for the page of a failure. */
  heldBranding(context: RequestContext<AuthEnv>): BrandingRecord | undefined {
    return this.#lists.peek(context, upstreamsId)?.branding ?? undefined;
  }

  /** The active ones, in the order of their ids. */
  async list(context: RequestContext<AuthEnv>): Promise<readonly Upstream[]> {
    const list = await this.#lists.find(context, upstreamsId);
    return list?.upstreams.filter(({ status }) => status === "active") ?? [];
  }

  async find(context: RequestContext<AuthEnv>, upstreamId: string): Promise<Upstream | undefined> {
    return (await this.list(context)).find((each) => each.upstreamId === upstreamId);
  }

  /** Its client secret or private key. A copy from before a replacement of the master key is read again. Cost: 0. */
  async secretOf(context: RequestContext<AuthEnv>, { upstreamId, secret }: Upstream): Promise<string> {
    const opened = await openSecret(context, upstreamId, secret);
    if (opened !== undefined) return opened;
    const list = await this.#lists.reload(context, upstreamsId);
    const current = list?.upstreams.find((each) => each.upstreamId === upstreamId)?.secret ?? null;
    const again = await openSecret(context, upstreamId, current);
    if (again === undefined) throw new Error(`the secret of the upstream provider ${upstreamId} does not open`);
    return again;
  }
}

async function openSecret(
  { env }: RequestContext<AuthEnv>,
  upstreamId: string,
  secret: string | null,
): Promise<string | undefined> {
  return secret === null ? undefined : openSealed(env, "upstream-seal", secret, upstreamSeal(upstreamId));
}

/** The text of a metadata document. */
interface MetadataText {
  readonly text: string;
}

/** **Metadata of upstream providers**, cached as their HTTP headers allow (5 minutes to a day). openid-client reads and checks them. */
export function createUpstreamMetadata(): FetchedDocuments<MetadataText> {
  return new FetchedDocuments<MetadataText>({
    name: "upstream metadata",
    rules: { timeoutMs: limits.outboundFetchMs, bodyBytes: limits.outboundFetchBytes },
    content: "json or untyped",
    freshness: { leastSeconds: 300, usualSeconds: 3_600, mostSeconds: 86_400 },
    staleSeconds: 3_600,
    failureSeconds: 10,
    maxBytes: isolateMemory.upstreamMetadata / 2,
    urlBytes: isolateMemory.upstreamMetadata / 6,
    read: (text) => ({ text }),
  });
}

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { type LocalProvider, startLocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { ProviderFixtures } from "../conformance/fixtures/provider-fixtures.ts";
import { fetchWithCertificate, startTlsProxy, type TlsProxy } from "../conformance/fixtures/tls-proxy.ts";
import { TestAuthority } from "../fixtures/client-certificates.ts";
import { alice, type Evidence, type Product, user } from "./product.ts";
import { ProductRun } from "./product-run.ts";

/** **A provider with https, as products find it in production**, and the products' runs at it. */
export class Stage {
  readonly issuer: string;
  readonly #provider: LocalProvider;
  readonly #proxy: TlsProxy | undefined;
  readonly fixtures: ProviderFixtures;
  /** The lines of the provider's log. */
  readonly log: Record<string, unknown>[];
  /** PEM, in a file: the provider's certificate, if it has one. */
  readonly certificate: string;

  private constructor(
    provider: LocalProvider,
    proxy: TlsProxy | undefined,
    certificate: string,
    log: Record<string, unknown>[],
  ) {
    this.issuer = provider.issuer;
    this.#provider = provider;
    this.#proxy = proxy;
    this.fixtures = new ProviderFixtures(provider);
    this.log = log;
    this.certificate = join(mkdtempSync(join(tmpdir(), "edge-op-certificate-")), "provider.pem");
    writeFileSync(this.certificate, certificate);
    chmodSync(dirname(this.certificate), 0o755);
  }

  /** `http`: a provider as `npx edge-op dev` starts it. */
  static async open(scheme: "https" | "http" = "https"): Promise<Stage> {
    const log: Record<string, unknown>[] = [];
    const port = await findFreePort("localhost");
    const isTls = scheme === "https";
    const provider = await startLocalProvider({
      shape: "compact",
      vars: { REQUEST_LOG_PERCENT: "100", ...(isTls ? { ISSUER: `https://localhost:${port}` } : {}) },
      onLog: ({ message }) => message.startsWith("{") && log.push(JSON.parse(message) as Record<string, unknown>),
    });
    const { cert: authority } = await TestAuthority.create();
    const proxy = isTls ? await startTlsProxy({ port, origin: provider.origin, authority }) : undefined;
    const stage = new Stage(provider, proxy, proxy?.cert ?? authority, log);
    await stage.fixtures.user({ ...user, sub: "alice", claims: alice, groups: ["staff"] });
    return stage;
  }

  get fetch(): typeof fetch {
    return this.#proxy === undefined ? fetch : fetchWithCertificate(this.#proxy);
  }

  person(): Person {
    return new Person(this.issuer, user, this.fetch);
  }

  async run(product: Product): Promise<Evidence> {
    const run = await ProductRun.prepare(this, product);
    try {
      return await product.show(run);
    } catch (error) {
      const refused = this.log.filter(({ event }) => event === "refused" || event === "bug");
      throw new Error(`${product.name}: ${(error as Error).message}\n${JSON.stringify(refused)}\n${run.output}`, {
        cause: error,
      });
    } finally {
      await run.stop();
    }
  }

  async close(): Promise<void> {
    rmSync(dirname(this.certificate), { recursive: true });
    await this.#proxy?.stop();
    await this.#provider.stop();
  }
}

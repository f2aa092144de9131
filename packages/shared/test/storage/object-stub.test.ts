import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { readSettings } from "../../src/config/settings.ts";
import { type KeyManagerRpc, keyManagerName } from "../../src/keys/key-schedule.ts";
import { objectStub, shardStub } from "../../src/storage/call-object.ts";

const { KEY_MANAGER } = env as unknown as { readonly KEY_MANAGER: DurableObjectNamespace<KeyManagerRpc> };
const issuer = { ISSUER: "https://op.example.com" };

/** The names and options with which objects are addressed; the objects are real. */
function observed(): { namespace: DurableObjectNamespace<KeyManagerRpc>; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const namespace = new Proxy(KEY_MANAGER, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        calls.push([property, ...args]);
        return Reflect.apply(value, object, args) as unknown;
      };
    },
  });
  return { namespace, calls };
}

it("KeyManager and ControlPlane are created in the deployment's region, shards in their own", () => {
  const { namespace, calls } = observed();
  const settings = readSettings({ ...issuer, REGION: "weur" });
  const at = { generation: 2, region: "apac", shard: 3 };
  objectStub(settings, namespace, keyManagerName);
  shardStub(settings, namespace, "code", at, { shards: 4, hint: "oc" });
  shardStub(settings, namespace, "code", at);
  shardStub(settings, namespace, "code", { ...at, region: "main" });
  expect(calls).toEqual([
    ["getByName", "keys", { locationHint: "weur" }],
    ["getByName", "code:g2:apac:3", { locationHint: "oc" }],
    ["getByName", "code:g2:apac:3", { locationHint: "apac" }],
    ["getByName", "code:g2:main:3", { locationHint: "weur" }],
  ]);
});

it("with a jurisdiction, every object is addressed within it, or not at all", () => {
  const { namespace, calls } = observed();
  const settings = readSettings({ ...issuer, REGION: "weur", JURISDICTION: "eu" });
  // The local runtime has no jurisdictions: the call reaches it and does not fall back to an unrestricted object.
  expect(() => objectStub(settings, namespace, keyManagerName)).toThrow(/[Jj]urisdiction/);
  expect(calls).toEqual([["jurisdiction", "eu"]]);
});

import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { operationId, type RequestContext } from "../http/request-context.ts";
import { macText, verifyMac } from "../secrets/mac.ts";
import { callObject, shardStub } from "../storage/call-object.ts";
import { formatOpaqueId, parseOpaqueId, type ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import type { AuthorizationCodeStoreRpc } from "./authorization-code-rpc.ts";
import type { AuthorizationCodeBindings } from "./authorization-codes.ts";
import type {
  DecidedDevice,
  DeviceDecision,
  DevicePollResult,
  DeviceRedeemRequest,
  DeviceRedeemResult,
  WaitingDevice,
} from "./device-code-rpc.ts";
import { newUserCode } from "./user-code.ts";

type DeviceContext = RequestContext<AuthorizationCodeBindings>;

const idBytes = 16;
const idCharacters = 22;
/** Among 25 × 10⁹ codes, two consecutive collisions with codes in use are negligible. */
const attempts = 3;

export interface IssuedDeviceCode {
  readonly deviceCode: string;
  readonly userCode: string;
}

/** A verified device code. */
export interface DeviceCodeId {
  readonly address: ShardAddress;
  readonly id: string;
}

/**
 * **Device codes** (`dc.g{gen}.{region}.{shard}.{random id and MAC}`) and their user codes. The user code selects the shard, so that one row in one
 * object serves the person and the device; a user code of an earlier generation is looked up there too. A forged device code is refused without I/O.
 * Cost: 1 object call each; `find` and `decide` 1 for each live generation at most.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-3.2
 */
export class DeviceCodes {
  readonly #shardMap: ShardMap;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
  }

  async open(
    context: DeviceContext,
    device: {
      readonly clientId: string;
      readonly request: string;
      readonly intervalMs: number;
      readonly expiresAtMs: number;
    },
  ): Promise<IssuedDeviceCode> {
    const id = randomBase64Url(idBytes);
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const userCode = newUserCode();
      const address = (await this.#homes(context, userCode))[0]!;
      const isOpen = await this.#call(context, address, (stub) => stub.openDevice({ ...device, id, userCode }));
      if (!isOpen) continue;
      const mac = await macText(context.env, "code-mac", formatOpaqueId("dc", address, id));
      return { deviceCode: formatOpaqueId("dc", address, id + mac), userCode };
    }
    throw new UnavailableError("code", new Error("no free user code"));
  }

  /** The device that is waiting for a decision; `undefined` for a code that is unknown, expired or decided. */
  async find(context: DeviceContext, userCode: string): Promise<WaitingDevice | undefined> {
    const found = await this.#find(context, userCode);
    return found !== undefined && "decided" in found ? undefined : found;
  }

  /** Like {@link find}, but returns the decision for a code that this person has decided. */
  findFor(context: DeviceContext, userCode: string, sub: string): Promise<WaitingDevice | DecidedDevice | undefined> {
    return this.#find(context, userCode, sub);
  }

  async decide(context: DeviceContext, userCode: string, decision: DeviceDecision): Promise<boolean> {
    for (const address of await this.#homes(context, userCode)) {
      if (await this.#call(context, address, (stub) => stub.decideDevice(userCode, decision))) return true;
    }
    return false;
  }

  /** `undefined` for text that is not a device code of this provider, or has a retired generation. */
  async read(context: DeviceContext, deviceCode: string): Promise<DeviceCodeId | undefined> {
    const parsed = parseOpaqueId("dc", deviceCode);
    if (parsed === undefined) return undefined;
    const { address, random } = parsed;
    const id = random.slice(0, idCharacters);
    const text = formatOpaqueId("dc", address, id);
    return (await verifyMac(context.env, "code-mac", text, random.slice(idCharacters))) ? { address, id } : undefined;
  }

  poll(context: DeviceContext, { address, id }: DeviceCodeId, clientId: string): Promise<DevicePollResult> {
    const poll = { id, clientId, operationId: operationId(context) };
    return this.#call<DevicePollResult>(context, address, (stub) => stub.pollDevice(poll));
  }

  redeem(
    context: DeviceContext,
    { address, id }: DeviceCodeId,
    presented: Pick<DeviceRedeemRequest, "clientId" | "cnf" | "resources" | "authorizationDetails" | "targets">,
  ): Promise<DeviceRedeemResult> {
    const origin = { address: context.network, requestId: context.requestId };
    const request = { ...presented, id, operationId: operationId(context), origin };
    return this.#call<DeviceRedeemResult>(context, address, (stub) => stub.redeemDevice(request));
  }

  async #find(
    context: DeviceContext,
    userCode: string,
    decidedBy?: string,
  ): Promise<WaitingDevice | DecidedDevice | undefined> {
    for (const address of await this.#homes(context, userCode)) {
      const found = await this.#call<WaitingDevice | DecidedDevice | undefined>(context, address, (stub) =>
        stub.findDevice(userCode, decidedBy),
      );
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The shards of a user code, newest generation first. */
  async #homes(context: DeviceContext, userCode: string): Promise<ShardAddress[]> {
    return (await this.#shardMap.table(context)).homes("code", userCode).reverse();
  }

  async #call<T>(
    context: DeviceContext,
    address: ShardAddress,
    call: (stub: DurableObjectStub<AuthorizationCodeStoreRpc>) => Promise<T>,
  ): Promise<T> {
    const region = await this.#shardMap.locate(context, "code", address);
    if (region === undefined) throw new UnavailableError("code", new Error("a retired generation"));
    const stub = shardStub(context.settings, context.env.AUTHORIZATION_CODE_STORE, "code", address, region);
    return callObject("code", () => call(stub));
  }
}

/**
 * **The objects of op-state, for instances**: the classes themselves, with the environment, name and alarms of the instance with whose name they
 * begin. An alarm is set at the machine's time; when the instance's clock moves, it is set again.
 */

import type { DurableObject } from "cloudflare:workers";
import * as objects from "@edge-op/op-state/index";
import { current, type Instance, type StartedObject, splitName } from "./instance.ts";
import { environmentOf, findInstance } from "./instances.ts";

type ObjectClass = new (ctx: DurableObjectState, env: never) => DurableObject;
type Method = (this: DurableObject, ...args: unknown[]) => unknown;

interface Place {
  readonly instance: Instance;
  readonly started: StartedObject;
  /** Sets the alarm at the machine's time. */
  resetAlarm(): Promise<void>;
}

/** Finds the instance of an object, and gives the object's state the instance's names and times. */
function placeObject(ctx: DurableObjectState, binding: string): Place {
  const fullName = ctx.id.name ?? "";
  const [instanceName, name] = splitName(fullName);
  const instance = findInstance(instanceName);
  const started = instance.objects.get(fullName) ?? { binding, name: fullName, alarmAtMs: undefined };
  instance.objects.set(fullName, started);
  const { id, storage } = ctx;
  Object.defineProperty(ctx, "id", {
    value: { name, toString: () => id.toString(), equals: (other: DurableObjectId) => id.equals(other) },
  });
  const setAlarm = storage.setAlarm.bind(storage);
  const getAlarm = storage.getAlarm.bind(storage);
  const deleteAlarm = storage.deleteAlarm.bind(storage);
  const resetAlarm = async (): Promise<void> => {
    if (started.alarmAtMs !== undefined) await setAlarm(started.alarmAtMs - instance.aheadMs);
  };
  const alarms = {
    setAlarm: (at: number | Date) => {
      started.alarmAtMs = Number(at);
      return resetAlarm();
    },
    getAlarm: async () => {
      const at = await getAlarm();
      return at === null ? null : at + instance.aheadMs;
    },
    deleteAlarm: () => {
      started.alarmAtMs = undefined;
      return deleteAlarm();
    },
  };
  for (const [method, value] of Object.entries(alarms)) Object.defineProperty(storage, method, { value });
  return { instance, started, resetAlarm };
}

const places = new WeakMap<object, Place>();

function hosted(binding: string, base: ObjectClass): ObjectClass {
  class Hosted extends base {
    /** To be called after the instance's clock has moved. */
    async clockMoved(): Promise<void> {
      await places.get(this.ctx)!.resetAlarm();
    }

    /** To be called when the instance ends. */
    async clear(): Promise<void> {
      await this.ctx.storage.deleteAlarm();
      await this.ctx.storage.deleteAll();
    }
  }
  for (const method of Object.getOwnPropertyNames(base.prototype)) {
    const original: unknown = Reflect.get(base.prototype, method);
    if (method === "constructor" || typeof original !== "function") continue;
    const placed: Method = function (this: DurableObject, ...args) {
      const place = places.get((this as Hosted).ctx)!;
      return current.run(place.instance, () => Reflect.apply(original, this, argumentsOf(method, args, place)));
    };
    Object.defineProperty(Hosted.prototype, method, { value: placed, configurable: true, writable: true });
  }
  return new Proxy(Hosted, {
    construct(target, [ctx]: [DurableObjectState], newTarget) {
      const place = placeObject(ctx, binding);
      places.set(ctx, place);
      const { instance } = place;
      return current.run(
        instance,
        () => Reflect.construct(target, [ctx, environmentOf(instance)], newTarget) as Hosted,
      );
    },
  });
}

function argumentsOf(method: string, args: unknown[], { instance, started }: Place): unknown[] {
  if (method !== "alarm") return args;
  started.alarmAtMs = undefined;
  const [info] = args as [AlarmInvocationInfo | undefined];
  const { retryCount, isRetry, scheduledTime } = info ?? {};
  return scheduledTime === undefined
    ? args
    : [{ retryCount, isRetry, scheduledTime: scheduledTime + instance.aheadMs }];
}

export const TokenRevocationStore = hosted("TOKEN_REVOCATION_STORE", objects.TokenRevocationStore);
export const RevocationRelay = hosted("REVOCATION_RELAY", objects.RevocationRelay);
export const RefreshTokenRotator = hosted("REFRESH_TOKEN_ROTATOR", objects.RefreshTokenRotator);
export const KeyManager = hosted("KEY_MANAGER", objects.KeyManager);
export const AuthorizationCodeStore = hosted("AUTHORIZATION_CODE_STORE", objects.AuthorizationCodeStore);
export const SessionStore = hosted("SESSION_STORE", objects.SessionStore);
export const ChallengeStore = hosted("CHALLENGE_STORE", objects.ChallengeStore);
export const MailSender = hosted("MAIL_SENDER", objects.MailSender);
export const ControlPlane = hosted("CONTROL_PLANE", objects.ControlPlane);

import { type Browser, formatCookie, readCookie } from "@edge-op/pages/cookies";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { macText, verifyMac } from "@edge-op/shared/secrets/mac";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { isRecovering } from "../step/second-factor.ts";
import type { StepRequest } from "../step/step.ts";

/** People of one browser. */
const mostKept = 5;
const daySeconds = 86_400;

/** Whose device it is: a removed factor ends all devices of the person. */
export interface DeviceOwner {
  readonly sub: string;
  readonly epoch: number;
}

/**
 * **Remembered devices**: browsers in which a person has proven two factors and need not prove the second one again for `REMEMBER_DEVICE_DAYS`. A MAC
 * over the person, their factor epoch, the browser and the time, in a cookie. It is no proof and adds nothing to `acr` or `amr` (NIST SP 800-63B-4
 * §5.1). Cost: no I/O.
 *
 * The `Set-Cookie` value that remembers this browser; `undefined` if the deployment remembers none.
 */
export async function rememberDevice(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  browser: Browser,
  owner: DeviceOwner,
): Promise<string | undefined> {
  const { rememberDeviceDays: days } = readDeployment(context.env).secondFactor;
  if (days === 0) return undefined;
  const atMs = context.arrivedAtMs;
  const entry = `${atMs}:${await macText(context.env, "cookie-mac", textOf(browser, owner, atMs))}`;
  const entries = [entry, ...entriesOf(context, request)].slice(0, mostKept);
  return formatCookie(context, "op-device", entries.join("."), days * daySeconds);
}

export async function isRememberedDevice(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  browser: Browser,
  owner: DeviceOwner,
): Promise<boolean> {
  const { rememberDeviceDays: days } = readDeployment(context.env).secondFactor;
  const oldestMs = context.arrivedAtMs - days * daySeconds * 1000;
  const checks = entriesOf(context, request).map(async (entry) => {
    const [time = "", mac = ""] = entry.split(":");
    const atMs = Number(time);
    if (!(atMs > oldestMs)) return false;
    return verifyMac(context.env, "cookie-mac", textOf(browser, owner, atMs), mac);
  });
  return days > 0 && (await Promise.all(checks)).includes(true);
}

function entriesOf(context: RequestContext<AuthEnv>, request: ReceivedRequest): string[] {
  return readCookie(context, request, "op-device")?.split(".").slice(0, mostKept) ?? [];
}

function textOf({ id }: Browser, { sub, epoch }: DeviceOwner, atMs: number): string {
  return `device\n${id}\n${sub}\n${epoch}\n${atMs}`;
}

/**
 * **For how many days a person may let this browser skip the second factor**: 0 where it is not offered, and then not accepted either. Who sets a new
 * password has lost a way in, and a client that always asks would ask here again.
 */
export function offeredDays({ context, flow, policy }: Pick<StepRequest, "context" | "flow" | "policy">): number {
  if (isRecovering(flow) || policy.secondFactor === "always") return 0;
  return readDeployment(context.env).secondFactor.rememberDeviceDays;
}

import type { AuthorizationCodeStoreRpc } from "@edge-op/shared/codes/authorization-code-rpc";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import type { KeyManagerRpc } from "@edge-op/shared/keys/key-schedule";
import type { RevocationRelayRpc } from "@edge-op/shared/leases/relay-rpc";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { MailSenderRpc } from "@edge-op/shared/mail/mail-sender-rpc";
import type { RefreshTokenRotatorRpc } from "@edge-op/shared/refresh/refresh-family-rpc";
import type { SessionStoreRpc } from "@edge-op/shared/sessions/session-rpc";
import type { ChallengeStoreRpc } from "@edge-op/shared/storage/challenges";
import { d1, dataset, kv, mail, object, operated, queue, r2, rateLimit, service } from "./binding.ts";

/** **Every binding that a Worker may have**, by name. */
export const bindings = {
  DB: d1("edge-op", "00000000-0000-0000-0000-000000000000", "migrations"),
  AUDIT_DB: d1(
    "edge-op-audit",
    "00000000-0000-0000-0000-000000000001",
    "audit-migrations",
    "The audit log: a database of its own (ADR 35).",
  ),
  METRICS: dataset("edge_op_requests", "Optional: data points of requests (docs/operating/monitor.md)."),
  CACHE: kv("00000000000000000000000000000000"),
  AUDIT_EXPORT: r2(
    "edge-op-audit",
    "Optional: older events of the audit log are moved here, as sealed segments (docs/operating/audit.md).",
  ),
  BACKUP: r2("edge-op-backup", "Optional: a sealed backup of DB is written here every day (docs/operating/backup.md)."),
  AUDIT_QUEUE: queue("edge-op-audit"),
  TOKEN_REVOCATION_STORE: object<RevocationShard>("TokenRevocationStore"),
  REVOCATION_RELAY: object<RevocationRelayRpc>("RevocationRelay"),
  REFRESH_TOKEN_ROTATOR: object<RefreshTokenRotatorRpc>("RefreshTokenRotator"),
  KEY_MANAGER: object<KeyManagerRpc>("KeyManager"),
  AUTHORIZATION_CODE_STORE: object<AuthorizationCodeStoreRpc>("AuthorizationCodeStore"),
  SESSION_STORE: object<SessionStoreRpc>("SessionStore"),
  CHALLENGE_STORE: object<ChallengeStoreRpc>("ChallengeStore"),
  CONTROL_PLANE: object<ControlPlaneRpc>("ControlPlane"),
  MAIL_SENDER: object<MailSenderRpc>("MailSender"),
  EMAIL: mail,
  HOOKS: operated,
  CLIENT_RATE_LIMIT: rateLimit(1001, 100_000),
  /** Counted separately, and bound as `CLIENT_RATE_LIMIT`, so that a client's introspections do not use up its token requests. */
  MANAGEMENT_RATE_LIMIT: rateLimit(1003, 100_000),
  FAILED_AUTHENTICATION_RATE_LIMIT: rateLimit(1002, 200),
  ADDRESS_RATE_LIMIT: rateLimit(1004, 1_000),
  AUTH: service("op-auth"),
  CONSOLE: service("op-console"),
  TOKEN: service("op-token"),
  MANAGEMENT: service("op-management"),
  USERINFO: service("op-userinfo"),
} as const;

export type BindingName = keyof typeof bindings;

/** Bindings that the code of their Worker calls by another name. */
export const boundAs = { MANAGEMENT_RATE_LIMIT: "CLIENT_RATE_LIMIT" } as const satisfies Partial<
  Record<BindingName, string>
>;

export interface WorkerRow {
  /** The bindings in the order of the wrangler file. */
  readonly binds: readonly BindingName[];
  /** Classes that the Worker itself defines; it also binds them. */
  readonly defines?: readonly BindingName[];
  /** Whether the Worker has the master key. */
  readonly hasSecrets: boolean;
  /** The Worker consumes the queue of audit events. */
  readonly consumesAudit?: true;
  /** The platform calls the Worker at these times. */
  readonly crons?: readonly string[];
  /** The Worker makes pages or mails, and reads their settings. */
  readonly hasBranding?: true;
  /** A request makes several calls after each other: the Worker runs near its objects and D1 (Smart Placement), not near the caller. */
  readonly isNearStores?: true;
}

const objects = [
  ...["TOKEN_REVOCATION_STORE", "REVOCATION_RELAY", "REFRESH_TOKEN_ROTATOR", "KEY_MANAGER"],
  ...["AUTHORIZATION_CODE_STORE", "SESSION_STORE", "CHALLENGE_STORE", "CONTROL_PLANE", "MAIL_SENDER"],
] as const satisfies readonly BindingName[];
const endpoint = ["DB", "METRICS", "CACHE", "KEY_MANAGER", "TOKEN_REVOCATION_STORE", "REVOCATION_RELAY"] as const;
const issuing = [
  ...endpoint,
  ...["REFRESH_TOKEN_ROTATOR", "AUTHORIZATION_CODE_STORE", "CHALLENGE_STORE", "CONTROL_PLANE"],
] as const;

/** Every five minutes: a check wakes the revocation shards, and a shard in memory costs by time. */
export const readinessCrons = ["*/5 * * * *"] as const;

/** **The Workers of a deployment of separate Workers**, in the order of their deployment: each binds only earlier ones. */
export const workers = {
  "op-state": {
    binds: ["DB", "AUDIT_DB", "CACHE", "AUDIT_EXPORT", "BACKUP", "AUDIT_QUEUE", "EMAIL", "HOOKS"],
    defines: objects,
    hasSecrets: true,
    hasBranding: true,
  },
  "op-token": {
    binds: [...issuing, "CLIENT_RATE_LIMIT", "FAILED_AUTHENTICATION_RATE_LIMIT", "HOOKS"],
    hasSecrets: true,
  },
  "op-management": {
    binds: [
      ...issuing,
      ...["SESSION_STORE", "MAIL_SENDER", "AUDIT_DB", "AUDIT_EXPORT"],
      ...["MANAGEMENT_RATE_LIMIT", "FAILED_AUTHENTICATION_RATE_LIMIT"],
    ],
    hasSecrets: true,
    consumesAudit: true,
    crons: readinessCrons,
  },
  "op-userinfo": { binds: [...endpoint, "CHALLENGE_STORE", "CONTROL_PLANE", "HOOKS"], hasSecrets: true },
  "op-auth": {
    binds: [
      ...issuing,
      ...["SESSION_STORE", "MAIL_SENDER", "AUDIT_DB", "AUDIT_EXPORT"],
      ...["CLIENT_RATE_LIMIT", "FAILED_AUTHENTICATION_RATE_LIMIT", "ADDRESS_RATE_LIMIT", "HOOKS"],
    ],
    hasSecrets: true,
    hasBranding: true,
    isNearStores: true,
  },
  // No store: it calls the admin API, as anybody with a token may. The key seals its cookie and makes the secret of its client.
  "op-console": { binds: ["METRICS", "TOKEN", "MANAGEMENT"], hasSecrets: true, hasBranding: true },
  op: { binds: [...endpoint, "AUTH", "TOKEN", "MANAGEMENT", "USERINFO", "CONSOLE"], hasSecrets: false },
} as const satisfies Readonly<Record<string, WorkerRow>>;

export type SeparateWorker = keyof typeof workers;

/** The name of a binding in the code of the Workers that bind it. */
export function nameOf(binding: BindingName): string {
  return binding in boundAs ? boundAs[binding as keyof typeof boundAs] : binding;
}

/** The bindings of the compact Worker: the first of each name, and no service. */
export function compactBindings(): BindingName[] {
  const all = Object.values<WorkerRow>(workers).flatMap(({ binds, defines = [] }) => [...binds, ...defines]);
  const own = all.filter((each) => bindings[each].kind !== "service");
  return own.filter((each, index) => own.findIndex((other) => nameOf(other) === nameOf(each)) === index);
}

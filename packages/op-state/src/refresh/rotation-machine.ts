import { refuseDetails } from "@edge-op/protocol/oauth/authorization-details";
import { isConfirmedBy } from "@edge-op/protocol/oauth/confirmation";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import { refuseResources, uncheckedResources } from "@edge-op/shared/clients/token-targets";
import {
  type GrantPlace,
  type GrantRevocation,
  joinPlaces,
  lastPlace,
  neededPlaces,
  rowUntilMs,
} from "@edge-op/shared/grants/grant-revocation";
import {
  boundKey,
  type FamilySnapshot,
  type LaterBinding,
  type RotateRequest,
  type RotateResult,
  type Successor,
} from "@edge-op/shared/refresh/refresh-family-rpc";
import { parseTokenId, type ShardAddress } from "@edge-op/shared/storage/shard-address";

export interface FamilyRow {
  readonly snapshot: FamilySnapshot;
  /** The shard to which the family moved; this shard never decides about it again. */
  readonly movedTo: ShardAddress | undefined;
}

export interface RotationEvent {
  readonly type: "refresh.reused" | "refresh.misused" | "refresh.moved";
  readonly reason: string;
}

export interface RotationDecision {
  readonly result: RotateResult;
  readonly next?: FamilyRow;
  readonly event?: RotationEvent;
}

/** The token format has six digits; a family that has used all versions ends. */
const lastVersion = 999_999;

const endedReasons = { reused: "refresh-family-reused", killed: "refresh-family-ended" } as const;

/**
 * **Decides one use of a refresh token** (docs/reference/protocols.md §3, R1–R6). Pure; the clock is an argument. A decision is a result and, if
 * something changed, the family's next state. A refusal caused by a caller's mistake changes nothing. For a request that is being checked, a new
 * successor contains the state before it, and nothing else is changed.
 */
export function decideRotation(row: FamilyRow | undefined, sent: RotateRequest, nowMs: number): RotationDecision {
  const decision = decideChecked(row, sent, nowMs);
  const { result, next, event } = decision;
  if (sent.isUnchecked !== true || (next === undefined && event === undefined)) return decision;
  if (row === undefined || next === undefined || result.kind !== "rotated") {
    return { result: { kind: "unchecked_request", reason: "the request has not been checked" } };
  }
  const { version, rotatedAtMs, replays, successor } = row.snapshot;
  const { before: _, places: __, ...earlier } = successor;
  const before = { version, rotatedAtMs, replays, successor: earlier };
  return { result, next: { ...next, snapshot: { ...next.snapshot, successor: { ...result.successor, before } } } };
}

/** The state before a successor that no request has got; `undefined` if there is nothing to undo. */
export function decideTakeBack(row: FamilyRow | undefined, operationId: string): FamilyRow | undefined {
  if (row === undefined || row.movedTo !== undefined || row.snapshot.status !== "live") return undefined;
  const { before, ...made } = row.snapshot.successor;
  // A replay has given the successor to another request.
  if (before === undefined || made.operationId !== operationId || row.snapshot.replays > 0) return undefined;
  // A place is never forgotten before its last token has expired.
  const successor = { ...before.successor, places: made.places };
  const snapshot = { ...row.snapshot, ...before, successor };
  return { snapshot, movedTo: undefined };
}

function decideChecked(row: FamilyRow | undefined, sent: RotateRequest, nowMs: number): RotationDecision {
  if (row === undefined) return invalidGrant("refresh-family-unknown");
  const { snapshot, movedTo } = row;
  if (snapshot.family.expiresAtMs <= nowMs) return invalidGrant("refresh-family-expired");
  if (movedTo !== undefined) return { result: { kind: "moved", to: movedTo, handover: snapshot } };
  if (snapshot.status !== "live") return invalidGrant(endedReasons[snapshot.status]);
  const { family, version } = snapshot;
  const request = sent.dropsScope ? withinGrant(sent, family.scope) : sent;
  if (family.clientId !== request.clientId) return misused("refresh-token-of-other-client");
  // A token that was issued before its family was bound needs no key; it was already used, so it yields no other tokens.
  const isBound = request.version >= (snapshot.successor.bound?.fromVersion ?? 0);
  if (isBound && !isConfirmedBy(boundKey(snapshot), request.cnf)) return misused("refresh-token-of-other-key");
  // Otherwise a holder of the refresh token and the client's secret could turn bound tokens into bearer tokens.
  if (family.confirmedBy !== undefined && family.confirmedBy !== request.cnf?.method)
    return misused("refresh-key-not-proven");
  if (!isSubset(request.scope, family.scope)) return refuse("invalid_scope", "scope-not-granted");
  const unchecked = uncheckedResources(request.resources, family.resources, request.targets);
  if (unchecked !== undefined)
    return { result: { kind: "unchecked_resources", resources: unchecked, reason: "rules not looked up" } };
  const isAllowed = request.dropsScope ? overlaps : isSubset;
  if (!isAllowed(request.scope, request.allowedScope)) return refuse("invalid_scope", "scope-not-registered");
  const refusal = refuseResources(request.resources, family.resources, request.targets);
  if (refusal !== undefined) return refuse("invalid_target", refusal);
  const beyond = refuseDetails(family.authorizationDetails, request.authorizationDetails);
  if (beyond !== undefined) return refuse("invalid_authorization_details", beyond);

  if (request.version === version) return rotate(snapshot, request, nowMs);
  if (request.version > version) return invalidGrant("refresh-version-never-issued");
  if (request.version === version - 1) {
    // The response to this request was lost between object and Worker, so no client has received it.
    if (snapshot.successor.operationId === request.operationId) return success("rotated", snapshot);
    // The clock of an object stands still during a batch: without a grace, a use in the same millisecond is a second use too.
    const isInGrace = request.graceMs > 0 && nowMs - snapshot.rotatedAtMs <= request.graceMs;
    if (isInGrace) return replay(row, request);
  }
  return theft(row, request.version);
}

function rotate(snapshot: FamilySnapshot, request: RotateRequest, nowMs: number): RotationDecision {
  if (snapshot.version >= lastVersion) return invalidGrant("refresh-family-exhausted");
  if (request.hopTo !== undefined) {
    return {
      result: { kind: "moved", to: request.hopTo, handover: snapshot },
      next: { snapshot, movedTo: request.hopTo },
      event: { type: "refresh.moved", reason: `to generation ${request.hopTo.generation}` },
    };
  }
  if (request.keepsToken) return reuse(snapshot, request, nowMs);
  const next: FamilySnapshot = {
    ...snapshot,
    version: snapshot.version + 1,
    rotatedAtMs: nowMs,
    replays: 0,
    successor: {
      ...askedFor(snapshot, request),
      places: placesAfter(snapshot, request, nowMs),
      bound: bindingAfter(snapshot, request),
    },
  };
  return { ...success("rotated", next), next: { snapshot: next, movedTo: undefined } };
}

/**
 * Another access token for the same refresh token, which stays valid (FAPI 2.0 §5.3.2.1 item 9): the client authenticates and proves its key, so a
 * copied token is useless. The address is part of the token's text.
 */
function reuse(snapshot: FamilySnapshot, request: RotateRequest, nowMs: number): RotationDecision {
  const places = placesAfter(snapshot, request, nowMs);
  const { address } = snapshot.successor;
  const next: FamilySnapshot = {
    ...snapshot,
    successor: { ...askedFor(snapshot, request), address, places, bound: snapshot.successor.bound },
  };
  return { ...success("rotated", next), next: { snapshot: next, movedTo: undefined } };
}

/** Handles the previous token within its grace: a lost response, a duplicate tab or a retry gets the same successor (R1, R2). */
function replay({ snapshot }: FamilyRow, request: RotateRequest): RotationDecision {
  const asked = askedFor(snapshot, request);
  const { successor } = snapshot;
  const isSameRequest =
    isSame(asked.scope, successor.scope) &&
    isSame(asked.resources, successor.resources) &&
    asked.authorizationDetails === successor.authorizationDetails;
  if (!isSameRequest) {
    return misused("refresh-replay-differs");
  }
  // The successor may be bound even if this token is not.
  if (!isConfirmedBy(boundKey(snapshot), request.cnf)) return misused("refresh-token-of-other-key");
  if (snapshot.replays >= request.maxReplays) return misused("refresh-replays-too-many");
  const next: FamilySnapshot = { ...snapshot, replays: snapshot.replays + 1 };
  return { ...success("replayed", next), next: { snapshot: next, movedTo: undefined } };
}

/** Two parties hold tokens of one family. The legitimate one is unknown, so both lose it (RFC 9700 §4.14.2). */
function theft({ snapshot }: FamilyRow, version: number): RotationDecision {
  const next: FamilySnapshot = { ...snapshot, status: "reused" };
  return {
    result: { kind: "invalid_grant", reason: "refresh-token-reused", theft: theftRevocation(next) },
    next: { snapshot: next, movedTo: undefined },
    event: { type: "refresh.reused", reason: `version ${version} used at version ${snapshot.version}` },
  };
}

/** The family itself refuses its refresh tokens, so rows are only needed for the tokens that it has issued. */
export function theftRevocation({ family, successor: { places } }: FamilySnapshot): GrantRevocation {
  const { grant, clientId } = family;
  return { grant, clientId, reason: "refresh_token_reused", untilMs: lastPlace(places).untilMs, places };
}

/** The place that the new access token names is remembered until its last token has expired. */
function placesAfter({ successor }: FamilySnapshot, request: RotateRequest, nowMs: number): readonly GrantPlace[] {
  const { jti } = request.accessToken;
  const id = parseTokenId(jti);
  if (id === undefined) throw new Error(`not a token id: ${jti}`);
  const place = { address: id.address, untilMs: rowUntilMs(request.tokensEndAtMs) };
  return neededPlaces(joinPlaces([...successor.places, place]), nowMs);
}

/** A family that started without a key is bound from the first refresh token that is issued for a proof. */
function bindingAfter(snapshot: FamilySnapshot, { bindsToken, cnf }: RotateRequest): LaterBinding | undefined {
  const { family, successor, version } = snapshot;
  if (successor.bound !== undefined || family.cnf !== undefined) return successor.bound;
  return bindsToken && cnf !== undefined ? { cnf, fromVersion: version + 1 } : undefined;
}

function askedFor({ family }: FamilySnapshot, request: RotateRequest): Omit<Successor, "places"> {
  return {
    scope: request.scope ?? family.scope,
    resources: request.resources ?? family.resources,
    authorizationDetails: request.authorizationDetails,
    accessToken: request.accessToken,
    address: request.address,
    operationId: request.operationId,
  };
}

function success(kind: "rotated" | "replayed", snapshot: FamilySnapshot): RotationDecision {
  const { version, family, successor } = snapshot;
  return { result: { kind, version, family: { ...family, cnf: boundKey(snapshot) }, successor } };
}

function invalidGrant(reason: RefusalReason): RotationDecision {
  return { result: { kind: "invalid_grant", reason, theft: undefined } };
}

function misused(reason: RefusalReason): RotationDecision {
  return { ...invalidGrant(reason), event: { type: "refresh.misused", reason } };
}

function refuse(
  kind: "invalid_scope" | "invalid_target" | "invalid_authorization_details",
  reason: RefusalReason,
): RotationDecision {
  return { result: { kind, reason } };
}

/**
 * Leaves out requested scope values that were not granted, unless none would remain or an admin scope is among them: then all stay, and are refused.
 */
function withinGrant(request: RotateRequest, granted: readonly string[]): RotateRequest {
  const beyond = request.scope?.filter((value) => !granted.includes(value)) ?? [];
  const scope = request.scope?.filter((value) => granted.includes(value)) ?? [];
  return beyond.length === 0 || scope.length === 0 || beyond.some(isAdminScope) ? request : { ...request, scope };
}

function overlaps(asked: readonly string[] | undefined, held: readonly string[]): boolean {
  return asked === undefined || asked.some((value) => held.includes(value));
}

function isSubset(asked: readonly string[] | undefined, held: readonly string[]): boolean {
  return asked === undefined || asked.every((value) => held.includes(value));
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return isSubset(a, b) && isSubset(b, a);
}

import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import type { Stored } from "@edge-op/protocol/encoding/stored-json";
import { type FieldError, OAuthError, type OAuthErrorCode } from "@edge-op/protocol/oauth/errors";
import type { adminScopes } from "@edge-op/protocol/oauth/scope";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { invalidFields, requireValid, validate, wrongMembers } from "@edge-op/shared/http/require-valid";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import type { ManagementEnv } from "@edge-op/workers/env";
import type * as z from "zod";
import type { ManagementIsolate } from "../isolate.ts";
import type { Delegate } from "./delegate.ts";

export type AdminScope = (typeof adminScopes)[number];

type AdminMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type ResponseHeader = "ETag" | "Location";
export type Precondition = "If-Match" | "If-None-Match";

/** The input of a handler: an authorized caller and validated input. */
export interface AdminCall<Body, Query> {
  readonly context: RequestContext<ManagementEnv>;
  readonly isolate: ManagementIsolate;
  readonly actor: AccessToken;
  /** The member who administers their own organisation by the same operation; absent for an administrator of the deployment. */
  readonly delegate?: Delegate | undefined;
  readonly body: Body;
  readonly query: Query;
  /** The `If-Match` header, for resources with an `ETag` (RFC 9110 §13.1.1). */
  readonly ifMatch: string | undefined;
  /** The `If-None-Match` header: `*` creates a resource, and replaces none (RFC 9110 §13.1.2). */
  readonly ifNoneMatch: string | undefined;
  /** A parameter of the path; the router has matched it, so it exists. */
  parameter(name: string): string;
}

interface AdminResponse<Resource> {
  readonly body: Resource;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Input before validation. */
type RawAdminCall = Omit<AdminCall<unknown, unknown>, "body" | "query"> & {
  readonly json: unknown;
  readonly search: URLSearchParams;
};

export interface AdminRouteSpec<Body extends z.ZodType, Query extends z.ZodType, Resource extends z.ZodType> {
  readonly method: AdminMethod;
  /** The path below `/admin`, with parameters in braces as in OpenAPI. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly scope: AdminScope;
  readonly body?: Body;
  readonly query?: Query;
  readonly response: {
    readonly status: 200 | 201 | 204;
    readonly description: string;
    readonly schema?: Resource;
    /** The headers that it always has. */
    readonly headers?: readonly ResponseHeader[];
  };
  /** The preconditions that the operation regards. */
  readonly preconditions?: readonly Precondition[];
  /** The error code of an invalid body; `invalid_request` unless given. */
  readonly errorCode?: (fields: readonly FieldError[]) => OAuthErrorCode;
  /**
   * Further faults of an invalid body, so that one response lists them all. `sound` is the body without the members that are
   * invalid by themselves (`wrong`).
   */
  faultsBeside?(
    call: Omit<RawAdminCall, "json" | "search">,
    sound: JsonObject,
    wrong: ReadonlySet<string>,
  ): Promise<readonly FieldError[]>;
  handle(call: AdminCall<z.output<Body>, z.output<Query>>): Promise<AdminResponse<Stored<z.input<Resource>>>>;
}

/** A route with erased types, as the router and the OpenAPI document use it. */
export interface AdminRoute extends Omit<AdminRouteSpec<z.ZodType, z.ZodType, z.ZodType>, "handle"> {
  run(call: RawAdminCall): Promise<AdminResponse<unknown>>;
}

/**
 * **Defines one operation of the admin API**: the router, the authorization, the validation and the OpenAPI document derive from its declaration.
 * Infers the types of the route: its handler receives only input that its schemas accept.
 */
export function defineRoute<
  Body extends z.ZodType = z.ZodType<undefined>,
  Query extends z.ZodType = z.ZodType<undefined>,
  Resource extends z.ZodType = z.ZodType<undefined>,
>(spec: AdminRouteSpec<Body, Query, Resource>): AdminRoute {
  const { handle, ...described } = spec;
  return {
    ...described,
    run: async ({ json, search, ...call }) =>
      handle({
        ...call,
        body: (spec.body === undefined ? undefined : await requireBody(spec, call, json)) as z.output<Body>,
        query: readQuery(spec.query, search) as z.output<Query>,
      }),
  };
}

async function requireBody(
  { body, errorCode, faultsBeside }: Pick<AdminRoute, "body" | "errorCode" | "faultsBeside">,
  call: Omit<RawAdminCall, "json" | "search">,
  json: unknown,
): Promise<unknown> {
  const result = validate(body!, json);
  if (result.valid) return result.data;
  if (faultsBeside === undefined || !isJsonObject(json)) throw invalidFields(result.fields, errorCode);
  const wrong = wrongMembers(result.fields);
  const sound = Object.fromEntries(Object.entries(json).filter(([name]) => !wrong.has(name)));
  throw invalidFields([...result.fields, ...(await faultsBeside(call, sound, wrong))], errorCode);
}

/** **Parses a query string** by its schema. Refuses unknown and repeated parameters by name. */
function readQuery(schema: z.ZodType | undefined, search: URLSearchParams): unknown {
  const values = new Map<string, string>();
  for (const [name, value] of search) {
    if (schema === undefined || values.has(name)) {
      const message = schema === undefined ? "is not a known parameter" : "is given twice";
      const path = name.slice(0, 64);
      throw new OAuthError("invalid_request", "query-invalid", {
        detail: `query: ${message}`,
        description: `${path}: ${message}`,
        fields: [{ path, message }],
      });
    }
    values.set(name, value);
  }
  return schema === undefined ? undefined : requireValid(schema, Object.fromEntries(values));
}

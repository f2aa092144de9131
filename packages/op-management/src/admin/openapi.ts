import * as z from "zod";
import type { AdminRoute, Precondition, ResponseHeader } from "./define-route.ts";
import { exampleBodies, exampleOf, exampleParameters } from "./examples.ts";

type JsonObject = Record<string, unknown>;

const errorSchema = z
  .strictObject({
    error: z.string(),
    error_description: z.string(),
    fields: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .optional()
      .describe("Every field of the body that is wrong."),
  })
  .meta({
    id: "Error",
    examples: [
      {
        ...{ error: "invalid_redirect_uri", error_description: "redirect_uris[0]: must be an absolute URI" },
        fields: [{ path: "redirect_uris[0]", message: "must be an absolute URI" }],
      },
    ],
  });

const json = "application/json";
const textHeader = { schema: { type: "string" } };
const alwaysSent = { required: true, ...textHeader };

const refusals: Readonly<Record<number, string>> = {
  400: "The input is invalid; the error names the field.",
  401: "A valid access token for this API is required (RFC 6750).",
  403: "The access token lacks the scope.",
  404: "There is no such resource.",
  408: "The body was not complete after 15 seconds.",
  409: "The resource already exists or was changed concurrently.",
  412: "The resource version does not match If-Match.",
  413: "The body is larger than 256 KiB.",
  503: "A backend did not respond. Try again.",
};

/** Headers of refusals. */
const refusalHeaders: Readonly<Record<string, JsonObject>> = {
  401: { "WWW-Authenticate": { description: "The schemes that are accepted (RFC 6750, RFC 9449).", ...alwaysSent } },
  403: { "WWW-Authenticate": { description: "Names the missing scope (RFC 6750).", ...alwaysSent } },
  503: { "Retry-After": { description: "Seconds.", ...alwaysSent } },
};

const headerMeanings: Readonly<Record<ResponseHeader, string>> = {
  ETag: "The version of the resource, for `If-Match`.",
  Location: "The URL of the new resource.",
};

class Components {
  readonly schemas: Record<string, JsonObject> = {};

  /** The schema, or a reference to it if it has a name; every named schema inside becomes a component. */
  refer(schema: z.ZodType, io: "input" | "output"): JsonObject {
    const { $schema: _, $defs: definitions = {}, ...described } = z.toJSONSchema(schema, { io });
    const differing = io === "input" ? namesThatDiffer(schema, definitions) : new Set<string>();
    const nameOf = (name: string) => (differing.has(name) ? `${name}Input` : name);
    for (const [name, definition] of Object.entries(definitions)) {
      const component = toComponents(definition, nameOf);
      const known = this.schemas[nameOf(name)] ?? component;
      if (JSON.stringify(known) !== JSON.stringify(component)) throw new Error(`two schemas are named ${nameOf(name)}`);
      this.schemas[nameOf(name)] = component;
    }
    return toComponents(described, nameOf);
  }
}

/**
 * Named schemas inside a body that are another schema in a response: there, a member with a default is always present. The body itself has a name
 * that no response has.
 */
function namesThatDiffer(schema: z.ZodType, definitions: Readonly<Record<string, object>>): ReadonlySet<string> {
  const { $defs: shown = {} } = z.toJSONSchema(schema, { io: "output", unrepresentable: "any" });
  const own = schema.meta()?.id;
  const names = Object.keys(definitions).filter(
    (name) => name !== own && JSON.stringify(definitions[name]) !== JSON.stringify(shown[name]),
  );
  return new Set(names);
}

/** JSON Schema refers to `#/$defs/Name`, OpenAPI to `#/components/schemas/Name`. */
function toComponents(schema: object, nameOf: (name: string) => string): JsonObject {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "$ref" && typeof value === "string"
      ? value.replace(/^#\/\$defs\/(.+)$/, (_, name: string) => `#/components/schemas/${nameOf(name)}`)
      : value,
  ) as JsonObject;
}

function content(schema: JsonObject, mediaType: string, example?: unknown): JsonObject {
  return { content: { [mediaType]: { schema, ...(example === undefined ? {} : { example }) } } };
}

const preconditionMeanings: Readonly<Record<Precondition, string>> = {
  "If-Match": "The `ETag` of the version to change; another one is 412.",
  "If-None-Match": "`*`: replace nothing.",
};

function parametersOf({ path, query, preconditions = [] }: AdminRoute): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
    example: exampleParameters[name!],
  }));
  const inQuery =
    query instanceof z.ZodObject
      ? Object.entries(query.shape as Record<string, z.ZodType>).map(([name, member]) => {
          const { $schema: _, description, ...schema } = z.toJSONSchema(member, { io: "input" });
          return { name, in: "query", ...(description === undefined ? {} : { description }), schema };
        })
      : [];
  const inHeaders = preconditions.map((name) => {
    return { name, in: "header", description: preconditionMeanings[name], ...textHeader };
  });
  return [...inPath, ...inQuery, ...inHeaders];
}

function responsesOf(route: AdminRoute, components: Components): JsonObject {
  const { status, description, schema, headers = [] } = route.response;
  const described = Object.fromEntries(
    headers.map((name) => [name, { description: headerMeanings[name], ...alwaysSent }]),
  );
  const error = content(components.refer(errorSchema, "output"), json);
  const statuses = Object.entries(refusals).filter(([refused]) => {
    if (refused === "412") return route.preconditions !== undefined;
    if (refused === "408" || refused === "413") return route.body !== undefined;
    if (refused === "404") return route.path.includes("{");
    return refused === "409" ? route.method !== "GET" : true;
  });
  return {
    [status]: {
      description,
      ...(headers.length === 0 ? {} : { headers: described }),
      ...(schema && content(components.refer(schema, "output"), json, exampleOf(schema))),
    },
    ...Object.fromEntries(
      statuses.map(([refused, meaning]) => {
        const own = refusalHeaders[refused];
        return [refused, { description: meaning, ...(own && { headers: own }), ...error }];
      }),
    ),
  };
}

/** The first sentence is the summary, which generators and command lines show in one line. */
function endOfSentence(text: string): number {
  const at = text.search(/[.:] /);
  return at < 0 ? text.length : at + 1;
}

function operation(route: AdminRoute, components: Components): JsonObject {
  const { operationId, summary, scope, body, method } = route;
  const parameters = parametersOf(route);
  const mediaType = method === "PATCH" ? "application/merge-patch+json" : json;
  return {
    operationId,
    summary: summary.slice(0, endOfSentence(summary)).replace(/:$/, "."),
    description: `${summary} It needs the scope \`${scope}\`.`,
    tags: [route.path.split("/")[1]],
    security: [{ admin: [scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            ...content(components.refer(body, "input"), mediaType, exampleBodies[operationId]),
          },
        }),
    responses: responsesOf(route, components),
  };
}

/**
 * **Describes the admin API in OpenAPI**, generated from the routes: the schema that describes a body also validates it. Named schemas (`meta({ id
 * })`) become components.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html
 */
export function describeApi(routes: readonly AdminRoute[], issuer: string): JsonObject {
  const components = new Components();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, components) };
  }
  const scopes = Object.fromEntries(routes.map(({ scope }) => [scope, scope.replace("admin:", "Administers ")]));
  return {
    openapi: "3.1.1",
    info: { title: "Edge OP admin API", version: "1", description: `Access tokens require \`aud\` ${issuer}/admin.` },
    servers: [{ url: `${issuer}/admin` }],
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: {
        admin: { type: "oauth2", flows: { clientCredentials: { tokenUrl: `${issuer}/token`, scopes } } },
      },
    },
  };
}

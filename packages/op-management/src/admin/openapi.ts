import * as z from "zod";
import type { AdminRoute } from "./define-route.ts";
import { exampleBodies, exampleParameters } from "./examples.ts";

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
  .meta({ id: "Error" });

const refusals: Readonly<Record<number, string>> = {
  400: "The input is invalid; the error names the field.",
  401: "A valid access token for this API is required (RFC 6750).",
  403: "The access token lacks the scope.",
  404: "There is no such resource.",
  409: "The resource already exists or was changed concurrently.",
  412: "The resource version does not match If-Match.",
  413: "The body is larger than 256 KiB.",
  503: "A backend did not respond. Try again.",
};

class Components {
  readonly schemas: JsonObject = {};

  /** The schema, or a reference to it if it has a name; every named schema inside becomes a component. */
  refer(schema: z.ZodType, io: "input" | "output"): JsonObject {
    const { $schema: _, $defs: definitions = {}, ...described } = z.toJSONSchema(schema, { io });
    for (const [name, definition] of Object.entries(definitions)) this.schemas[name] = toComponents(definition);
    return toComponents(described);
  }
}

/** JSON Schema refers to `#/$defs/Name`, OpenAPI to `#/components/schemas/Name`. */
function toComponents(schema: object): JsonObject {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "$ref" && typeof value === "string" ? value.replace("#/$defs/", "#/components/schemas/") : value,
  ) as JsonObject;
}

function content(schema: JsonObject, mediaType = "application/json", example?: unknown): JsonObject {
  return { content: { [mediaType]: { schema, ...(example === undefined ? {} : { example }) } } };
}

function parametersOf({ path, query, method, isConditional }: AdminRoute): JsonObject[] {
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
  const ifMatch = { name: "If-Match", in: "header", description: "The ETag to change.", schema: { type: "string" } };
  const ifNoneMatch = { ...ifMatch, name: "If-None-Match", description: "`*`: replace nothing." };
  const inHeaders = isConditional ? [ifMatch, ifNoneMatch] : method === "PATCH" ? [ifMatch] : [];
  return [...inPath, ...inQuery, ...inHeaders];
}

function responsesOf(route: AdminRoute, components: Components): JsonObject {
  const { status, description, schema } = route.response;
  const error = content(components.refer(errorSchema, "output"));
  const statuses = Object.entries(refusals).filter(([refused]) => {
    if (refused === "412") return route.method === "PATCH" || route.isConditional === true;
    if (refused === "413") return route.body !== undefined;
    if (refused === "404") return route.path.includes("{");
    return refused === "409" ? route.method !== "GET" : true;
  });
  return {
    [status]: { description, ...(schema === undefined ? {} : content(components.refer(schema, "output"))) },
    ...Object.fromEntries(statuses.map(([refused, text]) => [refused, { description: text, ...error }])),
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
  const mediaType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  return {
    operationId,
    summary: summary.slice(0, endOfSentence(summary)),
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

import {
  type Attribute,
  type Attributes,
  enterpriseSchema,
  groupAttributes,
  groupSchema,
  userAttributes,
  userSchema,
} from "./schema.ts";

const core = "urn:ietf:params:scim:schemas:core:2.0";

/** RFC 7643 §5: what is not supported is said. */
export function serviceProviderConfig(base: string) {
  const no = { supported: false };
  return {
    schemas: [`${core}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: 1_000 },
    changePassword: no,
    sort: no,
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Bearer token",
        description: "A SCIM token of the organisation.",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

export function resourceTypes(base: string) {
  const typeOf = (id: "User" | "Group", schema: string, more: object = {}) => ({
    schemas: [`${core}:ResourceType`],
    ...{ id, name: id, endpoint: `/${id}s`, schema, ...more },
    meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${id}` },
  });
  const schemaExtensions = [{ schema: enterpriseSchema, required: false }];
  return [typeOf("User", userSchema, { schemaExtensions }), typeOf("Group", groupSchema)];
}

const required = new Set(["userName", "Group.displayName"]);
const unique = new Set(["userName", "Group.displayName"]);

function describe(attributes: Attributes, within: string): readonly object[] {
  return Object.entries(attributes)
    .filter(([name]) => name !== enterpriseSchema && name !== "externalId")
    .map(([name, attribute]) => ({
      name,
      type: typeOf(name, attribute),
      multiValued: attribute.kind === "list",
      description: name,
      required: required.has(name) || required.has(`${within}.${name}`),
      mutability: within === "members" ? "immutable" : "readWrite",
      returned: "default",
      ...(attribute.parts === undefined
        ? {
            caseExact: false,
            uniqueness: unique.has(name) || unique.has(`${within}.${name}`) ? "server" : "none",
            ...(typeOf(name, attribute) === "reference" && {
              referenceTypes: within === "members" || within === "manager" ? ["User"] : ["external"],
            }),
          }
        : { subAttributes: describe(attribute.parts, name) }),
    }));
}

function typeOf(name: string, { kind }: Attribute): string {
  if (name === "$ref" || name === "profileUrl") return "reference";
  return kind === "text" ? "string" : kind === "boolean" ? "boolean" : "complex";
}

const groupsOfUser = {
  ...{ name: "groups", type: "complex", multiValued: true, description: "groups", required: false },
  ...{ mutability: "readOnly", returned: "default" },
  subAttributes: ["value", "display", "type", "$ref"].map((name) => ({
    ...{ name, type: name === "$ref" ? "reference" : "string", multiValued: false, description: name, required: false },
    ...{ mutability: "readOnly", returned: "default", caseExact: false, uniqueness: "none" },
    ...(name === "$ref" && { referenceTypes: ["Group"] }),
  })),
};

export function schemas(base: string) {
  const schemaOf = (id: string, name: string, attributes: readonly object[]) => ({
    schemas: [`${core}:Schema`],
    ...{ id, name, description: name, attributes },
    meta: { resourceType: "Schema", location: `${base}/Schemas/${id}` },
  });
  return [
    schemaOf(userSchema, "User", [...describe(userAttributes, "User"), groupsOfUser]),
    schemaOf(groupSchema, "Group", describe(groupAttributes, "Group")),
    schemaOf(enterpriseSchema, "EnterpriseUser", describe(userAttributes[enterpriseSchema]!.parts!, "EnterpriseUser")),
  ];
}

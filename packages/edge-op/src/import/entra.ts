import {
  addressClaims,
  compact,
  identityOf,
  idOf,
  type Json,
  nameClaims,
  objectsOf,
  type ReaderOptions,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
} from "./source-user.ts";

/**
 * **Users of Microsoft Entra**: pages of `GET /v1.0/users` of Microsoft Graph, with
 * `$select=id,userPrincipalName,displayName,givenName,surname,mail,mobilePhone,preferredLanguage,accountEnabled,createdDateTime,identities`. Graph gives
 * neither password hashes nor methods, and not the `sub` with which a person comes through Microsoft as an upstream provider, which differs for each application.
 *
 * @see https://learn.microsoft.com/en-us/graph/api/user-list
 * @see https://learn.microsoft.com/en-us/graph/api/resources/objectidentity
 */
export const entraReader: UserReader = {
  lists: ["value"],
  csv: { required: [["id"], ["userPrincipalName"]] },
  open: (options) => (user) => toUser(user, options),
};

function toUser(user: Json, options: ReaderOptions): ReadUser {
  const id = idOf(user["id"]);
  const identities = objectsOf(user["identities"]);
  const signInNames = identities.filter(({ signInType }) => signInType === "emailAddress" || signInType === "userName");
  // External users of a customer directory have a principal name that nobody types.
  const username = textOf(signInNames[0]?.["issuerAssignedId"]) ?? textOf(user["userPrincipalName"]);
  if (id === undefined || username === undefined)
    return { kind: "refused", reason: "has no id or no userPrincipalName" };
  const email =
    textOf(user["mail"]) ??
    textOf(signInNames.find((each) => each["signInType"] === "emailAddress")?.["issuerAssignedId"]);
  const line = compact({
    sub: id,
    username,
    status: user["accountEnabled"] === false || user["accountEnabled"] === "False" ? "suspended" : "active",
    claims: compact({
      ...nameClaims(user["givenName"], user["surname"], user["displayName"]),
      ...{ phone_number: textOf(user["mobilePhone"]), locale: textOf(user["preferredLanguage"]) },
      ...addressClaims(email, false),
    }),
    identities: identities
      .filter(({ signInType }) => signInType === "federated")
      .map(({ issuer, issuerAssignedId: subject }) => identityOf(options, [issuer], subject)),
    created_at: secondsOf(user["createdDateTime"]),
  });
  return { kind: "user", user: line, leftOut: [] };
}

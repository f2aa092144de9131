import {
  addressClaims,
  compact,
  hasContent,
  identityOf,
  idOf,
  isTrue,
  type Json,
  nameClaims,
  objectsOf,
  type ReaderOptions,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
  wordOf,
} from "./source-user.ts";

/**
 * **Users of Microsoft Entra**: pages of `GET /v1.0/users` of Microsoft Graph, with
 * `$select=id,userPrincipalName,displayName,givenName,surname,mail,mobilePhone,preferredLanguage,accountEnabled,createdDateTime,identities`. Graph
 * gives neither password hashes nor methods, and not the `sub` with which a person comes through Microsoft as an upstream provider, which differs for
 * each application.
 *
 * @see https://learn.microsoft.com/en-us/graph/api/user-list
 * @see https://learn.microsoft.com/en-us/graph/api/resources/objectidentity
 */
export const entraReader: UserReader = {
  lists: ["value"],
  csv: { required: [["id", "objectId"], ["userPrincipalName"]] },
  open: (options) => (user) => toUser(user, options),
};

/** Custom directories number the addresses: `emailAddress1`. */
function isAddress({ signInType }: Json): boolean {
  return textOf(signInType)?.startsWith("emailAddress") === true;
}

function toUser(user: Json, options: ReaderOptions): ReadUser {
  const id = idOf(user["id"] ?? user["objectId"]);
  const identities = objectsOf(user["identities"]);
  const principal = textOf(user["userPrincipalName"]);
  const signInNames = identities.filter((each) => isAddress(each) || each["signInType"] === "userName");
  const email = textOf(user["mail"]) ?? textOf(signInNames.find(isAddress)?.["issuerAssignedId"]);
  // Guests, and users of a customer directory, have a principal name that nobody types.
  const username =
    textOf(signInNames[0]?.["issuerAssignedId"]) ?? (principal?.includes("#EXT#") ? (email ?? principal) : principal);
  if (id === undefined || username === undefined)
    return { kind: "refused", reason: "has no id or no userPrincipalName" };
  const federated = identities.filter(({ signInType }) => signInType === "federated");
  const enabled = user["accountEnabled"];
  const line = compact({
    sub: id,
    username,
    status: hasContent(enabled) && !isTrue(enabled) ? "suspended" : "active",
    claims: compact({
      ...nameClaims(user["givenName"], user["surname"], user["displayName"]),
      ...{ phone_number: textOf(user["mobilePhone"] ?? user["mobile"]), locale: textOf(user["preferredLanguage"]) },
      ...addressClaims(email, false),
    }),
    identities: federated
      .filter(({ issuerAssignedId: subject }) => idOf(subject) !== undefined)
      .map(({ issuer, issuerAssignedId: subject }) => identityOf(options, [issuer], subject)),
    created_at: secondsOf(user["createdDateTime"]),
  });
  const leftOut = [
    ...(hasContent(enabled) ? [] : ["accountEnabled, which the file does not have: the user is active"]),
    ...federated
      .filter(({ issuerAssignedId: subject }) => idOf(subject) === undefined)
      .map(({ issuer }) => `sign-in with ${wordOf(issuer)}, without the id there`),
  ];
  return { kind: "user", user: line, leftOut };
}

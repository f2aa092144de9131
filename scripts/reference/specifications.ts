/** A document that test names cite. */
export interface Specification {
  readonly title: string;
  readonly url: string;
}

const openid = "https://openid.net/specs";

/** Specifications by the names that tests use, as patterns. RFCs need no entry. */
const named: readonly (readonly [pattern: string, specification: Specification])[] = [
  ["OIDC Core", { title: "OpenID Connect Core 1.0", url: `${openid}/openid-connect-core-1_0.html` }],
  [
    "(?:OIDC|OpenID Connect) Discovery(?: 1\\.0)?|(?<!\\w )Discovery(?= §)",
    { title: "OpenID Connect Discovery 1.0", url: `${openid}/openid-connect-discovery-1_0.html` },
  ],
  [
    "OIDC Registration",
    { title: "OpenID Connect Dynamic Client Registration 1.0", url: `${openid}/openid-connect-registration-1_0.html` },
  ],
  [
    "(?:OpenID Connect )?Back-Channel Logout(?: 1\\.0)?",
    { title: "OpenID Connect Back-Channel Logout 1.0", url: `${openid}/openid-connect-backchannel-1_0.html` },
  ],
  [
    "(?:OpenID Connect )?RP-Initiated(?: Logout)?(?: 1\\.0)?",
    { title: "OpenID Connect RP-Initiated Logout 1.0", url: `${openid}/openid-connect-rpinitiated-1_0.html` },
  ],
  [
    "OAuth (?:2\\.0 Multiple Response Type Encoding Practices|multiple response types)",
    {
      title: "OAuth 2.0 Multiple Response Type Encoding Practices",
      url: `${openid}/oauth-v2-multiple-response-types-1_0.html`,
    },
  ],
  [
    "OAuth form post",
    { title: "OAuth 2.0 Form Post Response Mode", url: `${openid}/oauth-v2-form-post-response-mode-1_0.html` },
  ],
  ["FAPI 2\\.0 Message Signing", { title: "FAPI 2.0 Message Signing", url: `${openid}/fapi-message-signing-2_0.html` }],
  ["WebAuthn", { title: "Web Authentication Level 3", url: "https://www.w3.org/TR/webauthn-3/" }],
  [
    "W3C change-password-url",
    { title: "A Well-Known URL for Changing Passwords", url: "https://www.w3.org/TR/change-password-url/" },
  ],
  ["Fetch(?= §)", { title: "Fetch Standard", url: "https://fetch.spec.whatwg.org/" }],
  [
    "(?:draft )?ID-JAG(?= §)",
    {
      title: "Identity Assertion JWT Authorization Grant (draft -04)",
      url: "https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/04/",
    },
  ],
  [
    "SPIFFE JWT-SVID",
    {
      title: "SPIFFE JWT-SVID",
      url: "https://github.com/spiffe/spiffe/blob/main/standards/JWT-SVID.md",
    },
  ],
  ["OpenAPI 3\\.1\\.1", { title: "OpenAPI 3.1.1", url: "https://spec.openapis.org/oas/v3.1.1.html" }],
  ["NIST SP 800-63B", { title: "NIST SP 800-63B-4", url: "https://pages.nist.gov/800-63-4/sp800-63b.html" }],
  [
    "RFC 6265bis",
    { title: "RFC 6265bis (draft)", url: "https://datatracker.ietf.org/doc/draft-ietf-httpbis-rfc6265bis/" },
  ],
  ["protocols(?:\\.md)?(?= §)", { title: "This provider's protocols", url: "protocols.md" }],
];

const rfc = "RFC \\d{4}(?!bis)";
const clause = "(?:§[\\d.]*\\d(?:–[\\d.]*\\d)?|Appendix [A-Z](?:\\.\\d+)?)";
const cited = new RegExp(
  `(${[...named.map(([pattern]) => pattern), rfc].join("|")})?(?: ?\\b)?(?<clauses> ?${clause}(?:,? (?:and )?${clause})*)?`,
  "g",
);

export interface Citation {
  /** `undefined`: the clause belongs to the specification of the surrounding group. */
  readonly specification: Specification | undefined;
  /** `undefined`: the entire specification. */
  readonly clause: string | undefined;
}

const protocols = findSpecification("protocols.md");

/** `R1, R2: …` and `§3 R2: …`: invariants of docs/reference/protocols.md, a range as each of its members. */
function invariantsIn(name: string): Citation[] {
  const [head] = /^(?:(?:protocols\.md )?§\d )?\(?[GIRKAT]\d(?:(?:, |–)[GIRKAT]\d)*/.exec(name) ?? [];
  const ranges = [...(head ?? "").matchAll(/([GIRKAT])(\d)(?:–\1(\d))?/g)];
  return ranges.flatMap(([, letter, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => ({
      specification: protocols,
      clause: `${letter}${Number(from) + index}`,
    })),
  );
}

/** **The citations in a test's name**: `RFC 6749 §4.1.2, RFC 9700 §4.7: …`, or `§4.1.2: …` inside a group that names the specification. */
export function citationsIn(name: string): Citation[] {
  const invariants = invariantsIn(name);
  if (invariants.length > 0) return invariants;
  return [...name.matchAll(cited)].flatMap(({ 1: spec, groups }) => {
    if (spec === undefined && groups?.["clauses"] === undefined) return [];
    const specification = spec === undefined ? undefined : findSpecification(spec);
    const clauses = groups?.["clauses"]?.match(new RegExp(clause, "g")) ?? [undefined];
    return clauses.map((each) => ({ specification, clause: each }));
  });
}

function findSpecification(name: string): Specification {
  const found = named.find(([pattern]) =>
    new RegExp(`^(?:${pattern.replaceAll(/\(\?(?:<!|=)[^)]*\)/g, "")})$`).test(name),
  );
  return found?.[1] ?? { title: name, url: `https://www.rfc-editor.org/rfc/${name.toLowerCase().replace(" ", "")}` };
}

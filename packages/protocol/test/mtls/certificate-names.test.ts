import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase64 } from "../../src/encoding/bytes.ts";
import { canonicalAddress, readCertificateNames } from "../../src/mtls/certificate-names.ts";
import { isSameName, parseDistinguishedName } from "../../src/mtls/distinguished-name.ts";

/** Created by OpenSSL, which prints its subject in the form of RFC 2253 as below. */
const der = decodeBase64(
  "MIICtjCCAlugAwIBAgIUA2YiTxYKM3/4KVdggGa1ehAJ3QYwCgYIKoZIzj0EAwIwgYQxCzAJBgNVBAYTAk5MMRYwFAYDVQQKDA1FeGFtcGxlLCBJbmMuMRYwFAYDVQRhDA1QU0ROTC1ETkItMTIzMRUwEwYDVQQLDAxaw7xyaWNoICsgQ28xDjAMBgNVBAMMBXBheSMxMR4wHAYJKoZIhvcNAQkBFg9vcHNAZXhhbXBsZS5jb20wIBcNMjYxMTIyMTEyMjUzWhgPMjEyNjEwMjkxMTIyNTNaMIGEMQswCQYDVQQGEwJOTDEWMBQGA1UECgwNRXhhbXBsZSwgSW5jLjEWMBQGA1UEYQwNUFNETkwtRE5CLTEyMzEVMBMGA1UECwwMWsO8cmljaCArIENvMQ4wDAYDVQQDDAVwYXkjMTEeMBwGCSqGSIb3DQEJARYPb3BzQGV4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERRNu1vExNwXyuns/lrXGQkzGI+CU8d2bHv+zyWK417S22OQAX54EGtvw+gn9YJYEVk+djmtqnN3tqIr8mCIcoaOBpjCBozAdBgNVHQ4EFgQUb+3SbNiLqxCjAxtKPODSwSn7eJIwHwYDVR0jBBgwFoAUb+3SbNiLqxCjAxtKPODSwSn7eJIwDwYDVR0TAQH/BAUwAwEB/zBQBgNVHREESTBHgg5jbGllbnQuZXhhbXBsZYYMdXJuOmNsaWVudDoxhwTAAAIHhxAgAQ24AAAAAAAAAAAAAAAHgQ9vcHNAZXhhbXBsZS5jb20wCgYIKoZIzj0EAwIDSQAwRgIhAOrMfa2+jwje+/DfrCjDEZMCSGdE+dR420i3SP4PipboAiEA6Ac36mWX7Uz4+o09uRKboeuT2QtNgkQO3ghuotk2BMY=",
)!;

describe("RFC 8705 §2.1.2: the names in a certificate", () => {
  it("reads every form of alternative name, and the validity", () => {
    expect(readCertificateNames(der)).toMatchObject({
      dns: ["client.example"],
      uri: ["urn:client:1"],
      ip: ["192.0.2.7", "[2001:db8::7]"],
      email: ["ops@example.com"],
      notBeforeMs: Date.UTC(2026, 10, 22, 11, 22, 53),
      notAfterMs: Date.UTC(2126, 9, 29, 11, 22, 53),
    });
  });

  it.each([
    String.raw`emailAddress=ops@example.com,CN=pay#1,OU=Z\C3\BCrich \+ Co,organizationIdentifier=PSDNL-DNB-123,O=Example\, Inc.,C=NL`,
    String.raw`emailAddress=ops@example.com,CN=pay#1,OU=Zürich \+ Co,organizationIdentifier=PSDNL-DNB-123,O=Example\, Inc.,C=NL`,
    String.raw`1.2.840.113549.1.9.1=#160f6f7073406578616d706c652e636f6d, 2.5.4.3=PAY\#1, ou=zürich  \2B co, oid.2.5.4.97=PSDNL-DNB-123, o=example\2C inc., c=nl`,
  ])("RFC 4514 §2: the subject is %s", (text) => {
    const name = parseDistinguishedName(text);
    expect(name).toBeDefined();
    expect(isSameName(name!, readCertificateNames(der)!.subject!)).toBe(true);
  });

  it.each([
    String.raw`CN=pay#1,OU=Z\C3\BCrich \+ Co,organizationIdentifier=PSDNL-DNB-123,O=Example\, Inc.,C=NL`,
    String.raw`C=NL,O=Example\, Inc.,organizationIdentifier=PSDNL-DNB-123,OU=Z\C3\BCrich \+ Co,CN=pay#1,emailAddress=ops@example.com`,
    "CN=pay#1",
  ])("another name is not: %s", (text) => {
    expect(isSameName(parseDistinguishedName(text)!, readCertificateNames(der)!.subject!)).toBe(false);
  });

  it.each(["", "CN", "=x", "unknown=x", "CN=a,,O=b", String.raw`CN=a\zb`, "CN=#zz", "CN=#16ff"])(
    "%j is no name",
    (text) => {
      expect(parseDistinguishedName(text)).toBeUndefined();
    },
  );

  it("compares the attributes of one part as a set, and parts in their order", () => {
    const name = (text: string) => parseDistinguishedName(text)!;
    expect(isSameName(name("CN=a+OU=b,O=c"), name("OU=b+CN=a,O=c"))).toBe(true);
    expect(isSameName(name("CN=a,OU=b"), name("OU=b,CN=a"))).toBe(false);
    expect(isSameName(name("CN=a,OU=b"), name("CN=a+OU=b"))).toBe(false);
  });

  it("a damaged certificate is malformed or has other names; reading it never throws", () => {
    fc.assert(
      fc.property(fc.nat(der.length - 1), fc.nat(255), fc.nat(der.length), (at, octet, length) => {
        const damaged = der.slice(0, length);
        if (at < length) damaged[at] = octet;
        readCertificateNames(damaged);
      }),
    );
    expect(readCertificateNames(der.slice(0, -1))).toBeUndefined();
    expect(readCertificateNames(new Uint8Array([...der, 0, 0]))).toBeUndefined();
    expect(readCertificateNames(new Uint8Array())).toBeUndefined();
  });

  it("writes an address in canonical form", () => {
    expect([canonicalAddress("2001:DB8:0:0::7"), canonicalAddress("2001:db8::7")]).toEqual([
      "[2001:db8::7]",
      "[2001:db8::7]",
    ]);
    expect(["1.2.3", "a.b.c.d", "::1/x", "host", "1.2.3.4:80", ""].map(canonicalAddress)).toEqual(
      Array(6).fill(undefined),
    );
  });
});

import { refuseClientUrl } from "@edge-op/shared/http/client-url";
import { expect, it } from "vitest";

const issuer = "https://op.example.com";
const localIssuer = "http://localhost:8787";

it.each([
  "https://client.example.com/jwks",
  "https://client.example.com:443/jwks?x=1",
  "https://op.example.com.evil.example/jwks",
  "https://8.8.8.8/jwks",
  "https://172.32.0.1/",
  "https://100.128.0.1/",
  "https://192.169.0.1/",
  "https://[2606:4700::1111]/",
  "https://xn--bcher-kva.example/",
  "https://internal.example.com/",
])("RFC 9700 §4.11: %s may be fetched", (url) => {
  expect(refuseClientUrl(url, issuer)).toBeUndefined();
});

it.each([
  ["not absolute", "/jwks"],
  ["no URL", "https://"],
  ["http", "http://client.example.com/jwks"],
  ["another scheme", "ftp://client.example.com/"],
  ["a file", "file:///etc/passwd"],
  ["data", "data:application/json,{}"],
  ["credentials", "https://user:pass@client.example.com/"],
  ["a host disguised as a user", "https://client.example.com@127.0.0.1/"],
  ["localhost", "https://localhost/"],
  ["localhost in capitals", "https://LOCALHOST/"],
  ["localhost with its final dot", "https://localhost./"],
  ["below localhost", "https://a.localhost/"],
  ["a single label", "https://intranet/"],
  [".local", "https://printer.local/"],
  [".internal", "https://metadata.google.internal/computeMetadata/v1/"],
  [".internal with its final dot", "https://metadata.google.internal./"],
  [".home.arpa", "https://router.home.arpa/"],
  ["another port", "https://client.example.com:8443/jwks"],
  ["the port of http", "https://client.example.com:80/"],
  ["the issuer's host", "https://op.example.com/jwks"],
  ["the issuer's host in capitals", "https://OP.EXAMPLE.COM/jwks"],
  ["the issuer's host with its final dot", "https://op.example.com./jwks"],
  ["loopback", "https://127.0.0.1/"],
  ["all of loopback", "https://127.255.255.254/"],
  ["loopback in short", "https://127.1/"],
  ["loopback as a number", "https://2130706433/"],
  ["loopback in hexadecimal", "https://0x7f.0.0.1/"],
  ["loopback in octal", "https://0177.0.0.1/"],
  ["loopback in full-width digits", "https://１２７.０.０.１/"],
  ["loopback with a final dot", "https://127.0.0.1./"],
  ["a public host with a final dot", "https://client.example.com./jwks"],
  ["a public host with an ideographic full stop at its end", "https://client.example.com\u3002/jwks"],
  ["this network", "https://0.0.0.0/"],
  ["10/8", "https://10.1.2.3/"],
  ["172.16/12", "https://172.31.255.255/"],
  ["192.168/16", "https://192.168.1.1/"],
  ["shared address space", "https://100.64.0.1/"],
  ["link-local and metadata", "https://169.254.169.254/latest/meta-data/"],
  ["benchmarking", "https://198.19.0.1/"],
  ["documentation", "https://203.0.113.1/"],
  ["multicast", "https://224.0.0.1/"],
  ["broadcast", "https://255.255.255.255/"],
  ["IPv6 loopback", "https://[::1]/"],
  ["IPv6 unspecified", "https://[::]/"],
  ["IPv6 unique local", "https://[fd00::1]/"],
  ["IPv6 metadata", "https://[fd00:ec2::254]/"],
  ["IPv6 link-local", "https://[fe80::1]/"],
  ["IPv6 multicast", "https://[ff02::1]/"],
  ["IPv6 documentation", "https://[2001:db8::1]/"],
  ["IPv4-mapped loopback", "https://[::ffff:127.0.0.1]/"],
  ["IPv4-mapped private in hexadecimal", "https://[::ffff:a00:1]/"],
  ["NAT64 of a private address", "https://[64:ff9b::10.0.0.1]/"],
  ["6to4 of a private address", "https://[2002:a00:1::]/"],
  ["Teredo", "https://[2001:0:a00:1::]/"],
  ["IPv4-compatible", "https://[::10.0.0.1]/"],
  ["NAT64 for local use", "https://[64:ff9b:1::a00:1]/"],
  ["IPv6 site-local", "https://[fec0::1]/"],
  ["IPv6 discard", "https://[100::1]/"],
  ["SRv6", "https://[5f00::1]/"],
  ["IPv6 loopback in full", "https://[0000:0000:0000:0000:0000:0000:0000:0001]/"],
  ["IPv4-mapped link-local in full", "https://[0:0:0:0:0:ffff:a9fe:a9fe]/"],
  ["loopback in short hexadecimal", "https://0x7f.1/"],
  ["loopback in one hexadecimal number", "https://0x7f000001/"],
  ["loopback in one octal number", "https://017700000001/"],
  ["private in mixed bases", "https://0xa.1.0x2.03/"],
  ["metadata as a number", "https://2852039166/"],
  ["loopback percent-encoded", "https://%31%32%37.0.0.1/"],
  ["loopback with ideographic full stops", "https://127\u30020\u30020\u30021/"],
  ["localhost in enclosed letters", "https://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/"],
  ["localhost with a soft hyphen", "https://local\u00adhost/"],
  ["a tab in the host", "https://local\thost/"],
  ["backslashes", "https:\\\\127.0.0.1\\"],
  ["an empty user", "https://@127.0.0.1/"],
  ["a password alone", "https://:x@client.example.com/"],
  ["a name that resolves to its address", "https://127.0.0.1.nip.io/"],
  ["a name that resolves to its address, dashed", "https://10-0-0-1.sslip.io/"],
  ["a name that resolves to loopback", "https://app.localtest.me/"],
  [".localdomain", "https://localhost.localdomain/"],
  ["AS112", "https://192.175.48.1/"],
  ["port 0", "https://client.example.com:0/"],
  ["javascript", "javascript:fetch('https://client.example.com')"],
  ["blob", "blob:https://client.example.com/1"],
])("RFC 9700 §4.11: %s is refused: %s", (_, url) => {
  expect(refuseClientUrl(url, issuer)).toEqual(expect.any(String));
});

it("in development, with a local issuer, clients may be local too; nothing else changes", () => {
  expect(refuseClientUrl("http://localhost:9000/jwks", localIssuer)).toBeUndefined();
  expect(refuseClientUrl("http://127.0.0.1:9000/jwks", localIssuer)).toBeUndefined();
  expect(refuseClientUrl("https://client.example.com/jwks", localIssuer)).toBeUndefined();
  expect(refuseClientUrl("http://client.example.com/jwks", localIssuer)).toBe("not https");
  for (const own of ["http://localhost:8787/jwks", "http://127.0.0.1:8787/jwks", "http://[::1]:8787/"]) {
    expect(refuseClientUrl(own, localIssuer), own).toBe("this provider's own");
  }
  expect(refuseClientUrl("http://localhost/", "http://localhost")).toBe("this provider's own");
  expect(refuseClientUrl("http://192.168.1.1/", localIssuer)).toBe("not https");
  expect(refuseClientUrl("https://192.168.1.1/", localIssuer)).toBe("not a public host");
  expect(refuseClientUrl("ftp://localhost/", localIssuer)).toBe("not http or https");
  expect(refuseClientUrl("https://localhost:9000/jwks", "https://localhost:8787")).toBeUndefined();
  expect(refuseClientUrl("https://localhost:9000/jwks", "https://localhost.example.com")).toBe("not a public host");
});

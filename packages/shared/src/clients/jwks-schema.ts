import * as z from "zod";

const member = z
  .string()
  .max(2048)
  .regex(/^[A-Za-z0-9_-]+$/, "must be base64url without padding");

/** Standard base64, not base64url (RFC 7517 §4.7). */
const certificate = z
  .string()
  .max(8 * 1024)
  .regex(/^[A-Za-z0-9+/]+={0,2}$/, "must be a certificate: DER, base64");

const secretMember = z.never({ error: "must be absent: only public keys are registered" }).exactOptional();

const known = {
  kid: z.string().min(1).max(255).exactOptional(),
  use: z.enum(["sig", "enc"]).exactOptional(),
  alg: z.string().min(1).max(32).exactOptional(),
  x5c: z.array(certificate).min(1).max(4).exactOptional(),
  key_ops: z.array(z.string().max(32)).max(8).exactOptional(),
  d: secretMember,
  p: secretMember,
  q: secretMember,
  dp: secretMember,
  dq: secretMember,
  qi: secretMember,
  oth: secretMember,
  k: secretMember,
};

const jwk = z.discriminatedUnion(
  "kty",
  [
    z.object({
      kty: z.literal("RSA"),
      n: member.min(342, "must be a modulus of 2048 bits or more"),
      e: member,
      ...known,
    }),
    z.object({ kty: z.literal("EC"), crv: z.enum(["P-256", "P-384", "P-521"]), x: member, y: member, ...known }),
    z.object({ kty: z.literal("OKP"), crv: z.enum(["Ed25519", "X25519"]), x: member, ...known }),
  ],
  { error: "must be a public key: kty RSA, EC or OKP" },
);

/**
 * **The key set of a client: public keys alone.** A private or symmetric member is refused instead of ignored, because its sender has disclosed a
 * secret. Unknown members are dropped (RFC 7517 §4).
 *
 * @see https://www.rfc-editor.org/rfc/rfc7517#section-5
 */
export const jwksSchema = z
  .strictObject({ keys: z.array(jwk).min(1).max(20) })
  .refine(({ keys }) => distinct(keys.flatMap(({ kid }) => kid ?? [])), {
    path: ["keys"],
    error: "must not repeat a kid",
  });

function distinct(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

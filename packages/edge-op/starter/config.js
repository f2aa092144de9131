import { readFileSync } from "node:fs";

/** Without `ISSUER`, everything is local, with the secrets of provider/seed.json. */
const { ISSUER, APP_URL, API_URL } = process.env;
const { clients } = JSON.parse(readFileSync(new URL("provider/seed.json", import.meta.url), "utf8"));

function secretOf(id, variable) {
  if (ISSUER === undefined) return clients[id].client_secret;
  const secret = process.env[variable];
  if (!secret) throw new Error(`${variable} is missing`);
  return secret;
}

export const issuer = ISSUER ?? "http://localhost:8787";
export const app = {
  url: APP_URL ?? "http://localhost:3000",
  clientId: "notes-app",
  clientSecret: secretOf("notes-app", "APP_CLIENT_SECRET"),
};
export const api = {
  url: API_URL ?? "http://localhost:4000/",
  clientId: "notes-api",
  clientSecret: secretOf("notes-api", "API_CLIENT_SECRET"),
};

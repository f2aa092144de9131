export const usersPath = "/console/users";

/** The path of a user's page, and of a page below it. */
export function userPath(sub: string, below = ""): string {
  return `${usersPath}/${encodeURIComponent(sub)}${below}`;
}

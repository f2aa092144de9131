/** **Policies about clients that are known by a metadata document**: refused, confirmed by the user each time, or treated like registered clients. */
export const documentPolicies = ["deny", "ask", "allow"] as const;
export type DocumentPolicy = (typeof documentPolicies)[number];

export interface HostPolicy {
  readonly policy: DocumentPolicy;
  /** `*.example.com`: every host below it. */
  readonly host: string;
}

/** `deny=evil.example allow=*.example.com`: exceptions. The first one that names a host applies. */
export function parseHostPolicies(name: string, text: string): readonly HostPolicy[] {
  const parts = text.split(/\s+/).filter((part) => part !== "");
  return parts.map((part) => {
    const [, policy, host] = /^(deny|ask|allow)=((?:\*\.)?[a-z0-9.-]+)$/.exec(part) ?? [];
    const known = documentPolicies.find((each) => each === policy);
    if (known === undefined || host === undefined || host.endsWith(".")) {
      throw new Error(
        `${name} must be deny=, ask= or allow= and a host name without a final dot, separated by spaces, not "${part}"`,
      );
    }
    return { policy: known, host };
  });
}

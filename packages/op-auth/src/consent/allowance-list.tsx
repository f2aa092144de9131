import type { Resource } from "@edge-op/shared/resources/resource";
import type { MappedAttribute } from "@edge-op/shared/users/attributes";
import type { AuthPageFrame } from "../pages/frame.ts";
import { describeAllowance, groupAllowances, withAttributes } from "./allowances.ts";
import type { DescribedDetail } from "./describe-details.ts";

interface AllowanceListProps {
  readonly t: AuthPageFrame["t"];
  readonly asked: readonly string[];
  /** The resources that the requested access may name. */
  readonly resources: readonly Resource[];
  /** The attributes that may be released to the client. */
  readonly attributes: readonly MappedAttribute[];
  readonly details: readonly DescribedDetail[];
}

/**
 * **The list of requested access** on the pages where a person decides; access to resources is grouped by resource. Words of clients and resources
 * are isolated: in a page from right to left, `https://bank.example/` would end with its scheme (UAX 9 §2.4.2).
 */
export function AllowanceList({ t, asked, resources, attributes, details }: AllowanceListProps) {
  const { others, groups } = groupAllowances(withAttributes(asked, attributes), resources, t.language);
  return (
    <ul class="scopes">
      {details.map(({ title, members }) => (
        <li class="detail">
          <CheckMark />
          <div>
            <strong>{title}</strong>
            {members.map(({ label, value }) => (
              <p class="small">
                <span class="muted">
                  <bdi>{label}</bdi>:
                </span>{" "}
                <bdi>{value}</bdi>
              </p>
            ))}
          </div>
        </li>
      ))}
      {others.map((item) => (
        <li>
          <CheckMark />
          <span>{describeAllowance(t, item, resources, attributes)}</span>
        </li>
      ))}
      {groups.map(({ identifier, name, descriptions }) => (
        <li class="detail resource">
          <CheckMark />
          <div>
            <strong>{t("resource.use", { resource: name })}</strong>
            {name !== identifier && (
              <p class="small muted">
                <bdi>{identifier}</bdi>
              </p>
            )}
            {descriptions.map((description) => (
              <p>
                <bdi>{description}</bdi>
              </p>
            ))}
          </div>
        </li>
      ))}
    </ul>
  );
}

function CheckMark() {
  return (
    <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
      <circle cx="10" cy="10" r="8" stroke-opacity="0.35" />
      <path d="M6.5 10.4l2.4 2.4 4.6-5.2" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

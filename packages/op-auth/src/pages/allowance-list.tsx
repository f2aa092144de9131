import type { Resource } from "@edge-op/shared/directory/resource";
import { describeAllowance, sortAllowances } from "./allowances.ts";
import type { DescribedDetail } from "./describe-details.ts";
import type { AuthPageFrame } from "./frame.ts";

interface AllowanceListProps {
  readonly t: AuthPageFrame["t"];
  readonly asked: readonly string[];
  /** Those that the requested access may name. */
  readonly resources: readonly Resource[];
  readonly details: readonly DescribedDetail[];
}

/** **The list of requested access** on the pages on which a person decides about it. */
export function AllowanceList({ t, asked, resources, details }: AllowanceListProps) {
  return (
    <ul class="scopes">
      {details.map(({ title, members }) => (
        <li class="detail">
          <CheckMark />
          <div>
            <strong>{title}</strong>
            {members.map(({ label, value }) => (
              <p class="small">
                <span class="muted">{label}:</span> {value}
              </p>
            ))}
          </div>
        </li>
      ))}
      {sortAllowances(asked).map((item) => (
        <li>
          <CheckMark />
          <span>{describeAllowance(t, item, resources)}</span>
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

/** Whether a reported block needs a person's answer. Pure. */
import { allow, ask, type Decision, deny } from '#kernel/decision';
import { type BlockReason, defaultApprovalDomains } from '#kernel/security';
import { destinationAction, type LiveRule } from './auto-approve.ts';
import { type Destination, matchesDestination } from './destinations.ts';

/** What was found in the traffic itself: no list of destinations settles that. */
const foundInContent: ReadonlySet<BlockReason> = new Set(['credential_detected', 'malware_domain', 'file_infected']);

/**
 * People's rules first, the strictest of those that match; then the domains that approvals go through (docs/design.md#requests-and-grants). An `allow` settles
 * only a block of the destination as such. INVARIANT: nothing is granted by it; it says whether a person is bothered.
 */
export function decideReport(reason: BlockReason, destination: Destination, rules: readonly LiveRule[]): Decision {
  const rule = destinationAction(destination, rules);
  const name = rule === undefined ? [] : [`auto-approve:${rule.pattern.text}`];
  if (rule?.action === 'block') return deny('destination_blocked', 'a person’s rule blocks this destination', name);
  if (rule?.action === 'prompt') return ask(reason, 'a person’s rule asks about this destination each time', name);
  if (foundInContent.has(reason)) return ask(reason, 'what was found there is for a person to judge', [`reason:${reason}`]);
  if (rule?.action === 'allow') return allow('destination_allowed', 'a person’s rule allows this destination', name);
  const domain = defaultApprovalDomains.find((pattern) => matchesDestination(pattern, destination));
  if (domain !== undefined) return allow('destination_allowed', 'approvals are sent through this domain', [`approval-domain:${domain}`]);
  return ask(reason, 'nobody has listed this destination', ['default']);
}

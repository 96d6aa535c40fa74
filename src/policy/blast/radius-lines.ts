/** A blast radius in sentences for the person who decides: only what is lost, the worst first. Pure. */
import type { Loss } from '#kernel/tool';
import type { BlastRadius, RadiusFacts } from './blast-radius.ts';

/** As many names as a line holds. */
const shownNames = 8;

/** @param nameOf a guest for people: `VM 100 (web)` */
export function radiusLines(loss: Loss, radius: BlastRadius, facts: RadiusFacts, nameOf: (vmid: number) => string): readonly string[] {
  const names = (vmids: Iterable<number>) =>
    namesOf(
      [...vmids].sort((a, b) => a - b),
      nameOf,
    );
  const itself = loss.kind === 'guest' ? loss.vmid : undefined;
  const served = [...radius.down].filter((vmid) => vmid !== itself);
  const { withoutGateway, withoutDns, startedAfter, stranded, moved } = radius;
  return [
    ...quorumLines(loss, radius, facts),
    ...(stranded.length === 0 ? [] : [`high availability finds no place that its rules allow and that has room for ${names(stranded)}`]),
    ...(served.length === 0 ? [] : [`goes down with it (runs there, or has disks that are served from there): ${names(served)}`]),
    ...(withoutGateway.length === 0 ? [] : [`it is the gateway of ${names(withoutGateway)}`]),
    ...(withoutDns.length === 0 ? [] : [`it is the only DNS server of ${names(withoutDns)}`]),
    ...(startedAfter.length === 0 ? [] : [`its node starts it before ${names(startedAfter)}, which may need it`]),
    ...(moved.size === 0 ? [] : [`high availability starts elsewhere: ${names(moved.keys())}`]),
  ];
}

function quorumLines(loss: Loss, { quorum, fenced }: BlastRadius, { clustered }: RadiusFacts): readonly string[] {
  if (loss.kind !== 'node' || !clustered || !quorum.before) return [];
  const votes = `${quorum.votes} vote${quorum.votes === 1 ? '' : 's'} would be left, ${quorum.needed} are needed`;
  if (quorum.after) return quorum.votes > quorum.needed ? [] : [`quorum would hang on every other node: ${votes}`];
  const restart =
    fenced.length === 0 ? '' : `; ${fenced.map((node) => `\`${node}\``).join(', ')} would restart for it, with all guests there`;
  return [`the cluster would lose quorum: ${votes}, and without it nothing can be started or changed${restart}`];
}

function namesOf(vmids: readonly number[], nameOf: (vmid: number) => string): string {
  const more = vmids.length - shownNames;
  const shown = vmids.slice(0, shownNames).map(nameOf).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}

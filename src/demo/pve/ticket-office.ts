/** Login tickets and CSRF tokens, for `POST /access/ticket`. Their form is PVE's, their content only has to be unguessable. */
import { randomBytes } from 'node:crypto';
import type { DemoClock } from '../manual-clock.ts';

const lifetimeMs = 2 * 3_600_000;

export interface Ticket {
  readonly ticket: string;
  readonly csrfToken: string;
}

export interface TicketOffice {
  issue(user: string): Ticket;
  /** The user behind a ticket; undefined when it is unknown or older than two hours. */
  userOf(ticket: string): string | undefined;
  csrfTokenFits(ticket: string, csrfToken: string | undefined): boolean;
}

export function createTicketOffice(clock: DemoClock): TicketOffice {
  const issued = new Map<string, { readonly user: string; readonly csrfToken: string; readonly at: number }>();
  return {
    issue(user) {
      const at = clock.now();
      const stamp = Math.floor(at / 1000)
        .toString(16)
        .toUpperCase()
        .padStart(8, '0');
      const ticket = `PVE:${user}:${stamp}::${randomBytes(128).toString('base64')}`;
      const csrfToken = `${stamp}:${randomBytes(32).toString('base64')}`;
      issued.set(ticket, { user, csrfToken, at });
      return { ticket, csrfToken };
    },
    userOf(ticket) {
      const known = issued.get(ticket);
      return known !== undefined && clock.now() - known.at <= lifetimeMs ? known.user : undefined;
    },
    csrfTokenFits(ticket, csrfToken) {
      const known = issued.get(ticket);
      return known !== undefined && known.csrfToken === csrfToken;
    },
  };
}

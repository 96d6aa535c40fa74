/** How much of one OS user may wait for people, whatever its agents call themselves: an agent's own limit is worth nothing where names are free. */
import { osUserOf } from '#kernel/agent';
import type { RequestStore } from '#kernel/ports/request-store';

export function limitPending(requests: RequestStore, most: number): RequestStore {
  // One after another for each user: two that count at once would both find room.
  const turns = new Map<string, Promise<unknown>>();
  const isFull = async (user: string): Promise<boolean> => {
    let count = 0;
    let cursor: string | undefined;
    do {
      const page = await requests.list({
        statuses: ['pending'],
        limit: 200,
        search: `${user}/`,
        ...(cursor === undefined ? {} : { cursor }),
      });
      count += page.records.filter(({ agent }) => osUserOf(agent.id) === user).length;
      cursor = page.cursor;
    } while (cursor !== undefined && count < most);
    return count >= most;
  };
  return {
    ...requests,
    open: (draft) => {
      const user = osUserOf(draft.agent.id);
      if (user === undefined) return requests.open(draft);
      const opening = (turns.get(user) ?? Promise.resolve()).then(async () =>
        (await isFull(user)) ? ({ ok: false, why: 'too_many' } as const) : requests.open(draft),
      );
      const over = opening.catch(() => undefined);
      turns.set(user, over);
      void over.then(() => turns.get(user) === over && turns.delete(user));
      return opening;
    },
  };
}

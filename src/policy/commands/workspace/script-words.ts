/** The words behind a script or program of the workspace, whatever it does with them. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import type { Invocation } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { type ShellWord, single } from './shell-word.ts';

/** Those that wait for jobs. */
const workers = /^(?:queue:(?:work|listen)|horizon|schedule:work|(?:octane|reverb):start|pail|websockets:serve)$/;

/** Frameworks' own servers: `manage.py runserver`, `artisan serve`. */
export function startsServer(script: string, rest: readonly ShellWord[]): boolean {
  const texts = rest.map((word) => single(word) ?? '');
  const verbs = texts.filter((text) => !text.startsWith('-'));
  if (/(?:^|\/)artisan$/.test(script) && workers.test(verbs[0] ?? ''))
    return !texts.some((text) => /^--(?:once|stop-when-empty|max-\w+=\d+)$/.test(text));
  return (
    /(?:^|\/)(?:manage\.py|artisan|console|rails)$/.test(script) &&
    verbs
      .slice(0, texts[0]?.startsWith('-') ? 2 : 1)
      .some((verb) =>
        /^(?:runserver\w*|serve|server(?::\w+)?|s|tinker|shell\w*|dbshell|createsuperuser|changepassword|c|dbconsole|rqworker|qcluster|celery|process_tasks)$/.test(
          verb,
        ),
      )
  );
}

/** Where coins are mined: no other program speaks that. */
export const poolAddress = /^(?:-\S+=)?stratum\d?(?:\+\w+)?:/i;

/** Arguments of a program of the workspace: nothing outside, no secrets; what is unknown is the program's to see. */
export function pathsIn(among: readonly ShellWord[], { scope }: Invocation, action: 'read' | 'write' = 'read'): readonly Decision[] {
  return among.flatMap((word) =>
    (word.values ?? []).flatMap((value) => {
      if (poolAddress.test(value)) return [askFor('network_blocked', word.offset, `\`${value.slice(0, 80)}\` is an address`)];
      const path = /^--?[\w-]+=((?:\/|~|\.).*)$/s.exec(value)?.[1] ?? value;
      if (/^(?:-|[a-z][a-z0-9+.-]*:\/\/)/i.test(path) || (/[\\%]/.test(path) && !path.startsWith('/'))) return [];
      return judgePath({ text: path, glob: word.glob, offset: word.offset }, action, scope);
    }),
  );
}

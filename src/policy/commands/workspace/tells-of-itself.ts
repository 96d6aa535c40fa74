/** Asking a program for its version or its help: nothing else happens, whatever the program is for. */
import type { Invocation } from './invocation.ts';
import { single } from './shell-word.ts';

/** Groups of refused programs that may still say which version they are. */
const talkative: ReadonlySet<string> = new Set(['containers', 'daemon', 'packages']);
/** Longer forms that look at files of the workspace at most. */
const forms: Readonly<Record<string, RegExp>> = {
  docker: /^compose (?:version|--version)$/,
  kubectl: /^version --client(?:=true)?(?: (?:-o|--output=?) ?(?:json|yaml))?$/,
  'ansible-playbook': /^(?:-i [\w-][\w-]*(?:\/[\w.-]+)? )?--(?:syntax-check|list-tasks|list-tags) [\w-][\w-]*(?:\/[\w-][\w.-]*)*\.ya?ml$/,
  ccache: /^(?:-s|-sv+|-V|-p|--show-(?:stats|config))$/,
  sccache: /^(?:-s|-V|--show-stats)$/,
};

/** `group`: why the program is refused otherwise, or undefined. */
export function tellsOfItself({ program, args }: Invocation, group: string | undefined): boolean {
  if (group !== undefined && !talkative.has(group)) return false;
  const texts = args.map((word) => single(word) ?? '\0');
  return (
    (texts.length === 1 && isQuestion(texts[0] ?? '')) || (Object.hasOwn(forms, program) && forms[program]?.test(texts.join(' '))) === true
  );
}

/** `--version`, `--help`. */
export function isQuestion(text: string): boolean {
  return text === '--version' || text === '--help';
}

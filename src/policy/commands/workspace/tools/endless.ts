/** Words of builders and checkers that would keep running, or open a door. */
import type { Caution, VerbGroup } from '../tool-rule.ts';
import { words } from '../words.ts';

/** Watching for changes. */
export const watches: Caution = {
  word: /^(?:--watch(?:All|-all)?(?:=(?!false).*)?|(?:--serve|--livereload)(?:=(?!false).*)?)$/,
  concern: 'never_ends',
  message: 'watches for ever',
};

/** Debuggers and hosts. */
export const inspects: Caution = {
  word: /^--(?:inspect|debug-port|remote-debugging|debug-brk|ui$|host\b)/,
  concern: 'runs_other_code',
  message: 'opens a debugger or a server',
};

/** By their names such options run a program or load code, whichever program they are given to. */
export const runsOrLoads: Caution = {
  word: /^--?(?:[\w-]*(?:plugin|extract-with|shell|exec|execute|command|preprocessor|run-tests|pager|rcfile|ackrc|actions)(?:=|$)|config(?:-file)?(?:=|$))/,
  concern: 'runs_other_code',
  message: 'runs another program or loads its instructions',
};

/** Verbs that start a server. */
export const servers: VerbGroup = {
  verbs: words(
    'dev serve preview start watch server ssr develop storybook runserver notebook lab phx.server autobuild studio browse preview-docs',
  ),
  concern: 'never_ends',
  message: 'a server that runs until it is stopped',
};

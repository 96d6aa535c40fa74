/** What the walk over a command line carries along. */
import type { Decision } from '#kernel/decision';
import type { WorkspaceView } from '../../paths/workspace-view.ts';
import type { UserRule } from '../user-rule.ts';
import type { WordScope } from './decode-word.ts';
import type { Invocation } from './invocation.ts';
import type { PathScope } from './judge-path.ts';
import type { MadeFiles } from './made-files.ts';
import type { SyntaxNode } from './syntax-node.ts';
import type { Variables } from './variable-value.ts';

/** The directories in which what follows may run: `succeeded` behind `&&`, `ended` whatever happened. */
export interface After {
  readonly succeeded: readonly string[];
  readonly ended: readonly string[];
}

/** What holds for the whole line. */
export interface Walk {
  readonly view: WorkspaceView;
  readonly userRules: readonly UserRule[];
  readonly onInvocation: ((invocation: Invocation) => void) | undefined;
  readonly variables: Variables;
  readonly functions: ReadonlySet<string>;
  /** By name, in every place where one is defined. */
  readonly definitions: ReadonlyMap<string, readonly SyntaxNode[]>;
  /** A pattern that matches nothing becomes no word. */
  readonly nullglob: boolean;
  /** Those that run the words they are called with. */
  readonly passing: ReadonlySet<string>;
  readonly found: Decision[];
  readonly made: MadeFiles;
  /** Commands, redirections and substitutions that were looked at. */
  readonly judged: Set<SyntaxNode>;
  /** Every directory that the line has entered or left so far: where `cd -` and `popd` may lead. */
  readonly visited: Set<string>;
  /** What is judged when all directories are known that the line enters. */
  readonly late: ((scope: PathScope) => readonly Decision[])[];
  /** Judges a function where it is called. */
  call(name: string, place: Place): After;
  /** Judges what is below a node and says where what follows may run. */
  visit(node: SyntaxNode, place: Place): After;
  /** Judges what a word makes the shell do while it is expanded. */
  inspect(node: SyntaxNode, place: Place): void;
  /** Judges the text of `bash -c`. */
  script(text: string, of: Invocation, given: Variables): readonly Decision[];
}

/** What holds where a command stands. */
export interface Place {
  readonly directories: readonly string[];
  readonly input: Invocation['input'];
  readonly inputText?: string | undefined;
  readonly listed?: readonly string[] | undefined;
  readonly takesPart?: boolean | undefined;
  readonly hidesSecrets?: boolean | undefined;
  readonly inFunction: boolean;
}

/** Nothing that changes the directory. */
export function staying({ directories }: Pick<Place, 'directories'>): After {
  return { succeeded: directories, ended: directories };
}

export function wordScope(walk: Walk, place: Place): WordScope {
  return { variables: walk.variables, directories: place.directories };
}

export function pathScope(walk: Walk, place: Place): PathScope {
  return { view: walk.view, directories: place.directories, made: walk.made };
}

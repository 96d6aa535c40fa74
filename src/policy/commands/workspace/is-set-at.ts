/**
 * SECURITY: whether a variable has been given a value by the time that a word is expanded. One that has not is empty: `rm -rf $x/` is `rm -rf /` where
 * the `x=src` stands behind it, in a branch that was not taken, in another process or in front of another command.
 */
import { childOf, childrenOf, isJob, type SyntaxNode } from './syntax-node.ts';

export interface Variable {
  readonly name: string;
  /** Where the value is taken away again: `unset NAME`, `local NAME`. */
  readonly removals: readonly SyntaxNode[];
}

/** Whether it surely is set at `use`, a node of the same tree. */
export function isSetAt(use: SyntaxNode, variable: Variable): boolean {
  return isSet(use, variable, new Set());
}

/** `passed`: functions whose calls are being looked at. */
function isSet(use: SyntaxNode, variable: Variable, passed: ReadonlySet<SyntaxNode>): boolean {
  for (let node = use; node.parent !== undefined; node = node.parent) {
    const set = setBefore(node, node.parent, variable);
    if (set !== undefined) return variable.removals.every((removal) => isHarmless(removal, set, use));
    if (node.type === 'function_definition') return isSetAtCalls(node, variable, passed);
  }
  return false;
}

/** A removal before the assignment, or behind all that happens. */
function isHarmless(removal: SyntaxNode, set: SyntaxNode, use: SyntaxNode): boolean {
  if (removal.startIndex > use.startIndex) return !isRepeated(removal) && !isRepeated(use);
  return removal.startIndex < set.startIndex && around(removal, /^function_definition$/) === around(set, /^function_definition$/);
}

function isRepeated(node: SyntaxNode): boolean {
  return around(node, /^(?:function_definition|\w*for_statement|while_statement)$/) !== undefined;
}

function around(node: SyntaxNode, type: RegExp): SyntaxNode | undefined {
  for (let above = node.parent; above !== undefined; above = above.parent) if (type.test(above.type)) return above;
  return undefined;
}

/** Whether it is at every call of the function, of which there is one. */
function isSetAtCalls(definition: SyntaxNode, variable: Variable, passed: ReadonlySet<SyntaxNode>): boolean {
  if (passed.has(definition)) return false;
  let root = definition;
  while (root.parent !== undefined) root = root.parent;
  const calls = callsOf(childOf(definition, 'name')?.text ?? '', root);
  return calls.length > 0 && calls.every((call) => isSet(call, variable, new Set([...passed, definition])));
}

function callsOf(name: string, node: SyntaxNode): readonly SyntaxNode[] {
  const below = node.namedChildren.flatMap((child) => callsOf(name, child));
  return node.type === 'command' && childOf(node, 'name')?.text === name ? [node, ...below] : below;
}

/** Within `parent`, what gives it a value whenever `node` is reached. */
function setBefore(node: SyntaxNode, parent: SyntaxNode, { name }: Variable): SyntaxNode | undefined {
  // Its own words come before it, and are not known where they hold it.
  if (parent.type === 'for_statement') return childOf(parent, 'variable')?.text === name ? parent : undefined;
  if (parent.type === 'list') return listBefore(node, parent, name);
  if (!sequences.test(parent.type)) return undefined;
  const isOtherBranch = /^(?:elif|else)_clause$/.test(node.type);
  return parent.namedChildren.find(
    (child) =>
      child.startIndex < node.startIndex &&
      !isJob(child) &&
      (!isOtherBranch || child.field === 'condition') &&
      assigns(child, name, !isOtherBranch && holdsBefore(child, parent)),
  );
}

/** What stands in them runs one after the other. */
const sequences =
  /^(?:program|compound_statement|do_group|subshell|(?:command|process)_substitution|case_item|(?:if|while)_statement|(?:elif|else)_clause|variable_assignments)$/;

/** Whether what follows runs only where the command has succeeded: the last one of a condition; of `until` where it has not. */
function holdsBefore(command: SyntaxNode, { type, children, namedChildren }: SyntaxNode): boolean {
  const last = namedChildren.findLast((child) => child.field === 'condition');
  return command === last && (type === 'if_statement' || children[0]?.type === 'while');
}

function listBefore(node: SyntaxNode, list: SyntaxNode, name: string): SyntaxNode | undefined {
  const [left] = list.namedChildren;
  return left !== undefined && left !== node && assigns(left, name, isAnd(list)) ? left : undefined;
}

function isAnd(list: SyntaxNode): boolean {
  return list.children.some((child) => child.type === '&&');
}

/** Whether the variable has a value in this shell once `node` has run; `succeeded`: once it has run with success. */
function assigns(node: SyntaxNode, name: string, succeeded: boolean): boolean {
  const assigner = Object.hasOwn(assigners, node.type) ? assigners[node.type] : undefined;
  return assigner?.(node, name, succeeded) ?? false;
}

type Assigner = (node: SyntaxNode, name: string, succeeded: boolean) => boolean;

const assigners: Readonly<Record<string, Assigner>> = {
  variable_assignment: (node, name) => childOf(node, 'name')?.text === name,
  variable_assignments: anyChild,
  declaration_command: anyChild,
  compound_statement: lastChild,
  else_clause: lastChild,
  case_item: lastChild,
  // Where a file cannot be opened nothing of it runs.
  redirected_statement: (node, name, succeeded) => succeeded && node.namedChildren.some((child) => assigns(child, name, true)),
  negated_command: (node, name) => node.namedChildren.some((child) => assigns(child, name, false)),
  list: (node, name, succeeded) => {
    const [left, right] = node.namedChildren;
    const both = succeeded && isAnd(node);
    return [left, both ? right : undefined].some((side) => side !== undefined && assigns(side, name, both));
  },
  if_statement: (node, name) =>
    node.namedChildren.some((child) => child.field === 'condition' && assigns(child, name, false)) || inEachBranch(node, name),
  case_statement: (node, name) => {
    const items = node.namedChildren.filter((child) => child.type === 'case_item');
    return (
      items.some((item) => childrenOf(item, 'value').some((value) => value.text === '*')) &&
      items.every((item) => assigns(item, name, false))
    );
  },
  // `: ${NAME:=value}`, `read NAME`
  command: (node, name, succeeded) => {
    const reads = succeeded && childOf(node, 'name')?.text === 'read';
    return childrenOf(node, 'argument').some((child) => fills(child, name) || (reads && child.text === name));
  },
};

function anyChild(node: SyntaxNode, name: string): boolean {
  return node.namedChildren.some((child) => assigns(child, name, false));
}

function lastChild(node: SyntaxNode, name: string, succeeded: boolean): boolean {
  const last = node.namedChildren.at(-1);
  return node.namedChildren.some((child) => !isJob(child) && assigns(child, name, succeeded && child === last));
}

/** `if` with an `else`. */
function inEachBranch(node: SyntaxNode, name: string): boolean {
  const isElse = node.namedChildren.at(-1)?.type === 'else_clause';
  const clauses = node.namedChildren.filter((child) => /^(?:elif|else)_clause$/.test(child.type));
  const body = node.namedChildren.filter((child) => child.field !== 'condition' && !clauses.includes(child));
  const inBody = body.some((child) => !isJob(child) && assigns(child, name, false));
  return isElse && inBody && clauses.every((clause) => behindThen(clause).some((child) => assigns(child, name, false)));
}

/** What runs where an `elif` or `else` is taken. */
function behindThen(clause: SyntaxNode): readonly SyntaxNode[] {
  const then = clause.children.find((child) => child.type === 'then')?.startIndex ?? 0;
  return clause.namedChildren.filter((child) => child.startIndex >= then && !isJob(child));
}

function fills(node: SyntaxNode, name: string): boolean {
  if (node.type === 'string') return node.namedChildren.some((child) => fills(child, name));
  return node.type === 'expansion' && new RegExp(`^\\s*\\$\\{${name}:?=`).test(node.text);
}

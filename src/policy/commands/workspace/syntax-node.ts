/** A node of the syntax tree, as plain data: taken out of the parser once, so that judging it crosses no border. */
export interface SyntaxNode {
  readonly type: string;
  readonly text: string;
  /** UTF-16 offsets. */
  readonly startIndex: number;
  readonly endIndex: number;
  /** A part of the grammar; an unnamed one is a token such as `&&`. */
  readonly isNamed: boolean;
  /** The name under which its parent holds it. */
  readonly field: string | undefined;
  readonly parent: SyntaxNode | undefined;
  readonly children: readonly SyntaxNode[];
  readonly namedChildren: readonly SyntaxNode[];
}

/** The first child under this name. */
export function childOf(node: SyntaxNode, field: string): SyntaxNode | undefined {
  return node.children.find((child) => child.field === field);
}

export function childrenOf(node: SyntaxNode, field: string): readonly SyntaxNode[] {
  return node.children.filter((child) => child.field === field);
}

/** Whether `&` stands behind it: it runs in a process of its own. */
export function isJob(node: SyntaxNode): boolean {
  const beside = node.parent?.children ?? [];
  return beside[beside.indexOf(node) + 1]?.type === '&';
}

/** Every node below, itself included, in the order of the text. */
export function allNodes(root: SyntaxNode): readonly SyntaxNode[] {
  const found: SyntaxNode[] = [];
  addAll(root, found);
  return found;
}

function addAll(node: SyntaxNode, found: SyntaxNode[]): void {
  found.push(node);
  for (const child of node.children) addAll(child, found);
}

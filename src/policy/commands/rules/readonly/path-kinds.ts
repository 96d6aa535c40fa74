/** Files of the workspace as operands. What they are is looked up afterwards; as text they only must be plain. */
import type { ValueKind } from '../../program-rule.ts';

const isPlain = (path: string) => path !== '' && path !== '-' && path.length <= 4_096;

export const workspaceFile: ValueKind = { name: 'a file of the workspace', file: 'read', accepts: isPlain };
export const workspacePath: ValueKind = { name: 'a path in the workspace', file: 'list', accepts: isPlain };
/** SECURITY: GNU tail takes `+5f` and `+f` as options of old, and then waits for ever. */
export const tailFile: ValueKind = { ...workspaceFile, accepts: (path) => isPlain(path) && !path.startsWith('+') };

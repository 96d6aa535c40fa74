/** Who a command is inside. */
export interface SandboxUser {
  readonly uid: number;
  readonly gid: number;
}

/** A mount of its own by which every process inside can be told, whatever its environment says. */
export const sandboxMark = '/run/banksman';

/** As root the command is somebody else inside: programs that think they are root try to change owners. */
export function sandboxUser(): SandboxUser {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return uid === 0 ? { uid: 1_000, gid: 1_000 } : { uid, gid };
}

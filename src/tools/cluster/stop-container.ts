import { defineGuestLifecycle } from '../support/guest-lifecycle.ts';

export const stopContainer = defineGuestLifecycle({
  name: 'stop_container',
  title: 'Stop container',
  description:
    'Hard-stop a Proxmox VE container (lxc) and wait for the task to end. Returns the task exit status and the new state. Not for VMs: use stop_vm. A person approves each call first: it may answer pending with a request id; then call check_request_status and, once approved, repeat the same call.',
  guestType: 'lxc',
  action: 'stop',
  impact: 'disruptive',
  verb: 'Stop',
  done: 'stopped',
});

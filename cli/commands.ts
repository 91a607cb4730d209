/**
 * The commands, in the order in which the help shows them. Each is a file of its own, which is loaded only when the command
 * is used, so that its packages cost the others no time.
 */
import type { Command } from 'commander';
import type { Session } from './command.ts';

export type CommandEntry = {
  /** Its name and its arguments. */
  readonly term: string;
  readonly summary: string;
  /** True where the command must know all other commands. */
  readonly needsAll?: true;
  /** True where a trace may begin with it: it starts what belongs to a run. */
  readonly beginsTrace?: true;
  /** Loads the function that gives the command its options, its help and its action. */
  readonly load: () => Promise<(command: Command, session: Session) => void>;
  /** The commands whose first word this is, such as those of `schedule`. */
  readonly commands?: readonly CommandEntry[];
};

/** `cambist schedule …`. */
const SCHEDULE_COMMANDS: readonly CommandEntry[] = [
  {
    term: 'next <policy...>',
    summary: 'shows the coming runs, holidays and skips explained; offline',
    load: async () => (await import('./commands/schedule/next.ts')).addScheduleNext,
  },
  {
    term: 'apply <path...>',
    summary: 'makes the schedules in Temporal match the policies; starts nothing',
    load: async () => (await import('./commands/schedule/apply.ts')).addScheduleApply,
  },
  {
    term: 'list',
    summary: 'shows the last and the next start of each, and what was missed',
    load: async () => (await import('./commands/schedule/list.ts')).addScheduleList,
  },
  {
    term: 'pause <name>',
    summary: 'lets a schedule start nothing until it is resumed',
    load: async () => (await import('./commands/schedule/pause.ts')).addSchedulePause,
  },
  {
    term: 'resume <name>',
    summary: 'lets a paused schedule start runs again',
    load: async () => (await import('./commands/schedule/resume.ts')).addScheduleResume,
  },
  {
    term: 'trigger <name>',
    summary: 'starts the run of today by a schedule, and follows it',
    load: async () => (await import('./commands/schedule/trigger.ts')).addScheduleTrigger,
  },
  {
    term: 'backfill <name>',
    summary: 'starts the runs of past dates by a schedule',
    load: async () => (await import('./commands/schedule/backfill.ts')).addScheduleBackfill,
  },
];

const AUDIT_COMMANDS: readonly CommandEntry[] = [
  {
    term: 'verify <file...>',
    summary: 'finds changed lines, and what no line explains',
    load: async () => (await import('./commands/audit/verify.ts')).addAuditVerify,
  },
];

const KEYS_COMMANDS: readonly CommandEntry[] = [
  {
    term: 'new [file]',
    summary: 'makes a file with a new key',
    load: async () => (await import('./commands/keys/new.ts')).addKeysNew,
  },
  {
    term: 'rotate [file]',
    summary: 'brings the next key into use, in two steps',
    load: async () => (await import('./commands/keys/rotate.ts')).addKeysRotate,
  },
  {
    term: 'list [file]',
    summary: 'shows which keys there are, and no secret',
    load: async () => (await import('./commands/keys/list.ts')).addKeysList,
  },
];

export const COMMANDS: readonly CommandEntry[] = [
  {
    term: 'up',
    summary: 'Temporal, sandbox and worker in one go, to look round',
    load: async () => (await import('./commands/up.ts')).addUp,
  },
  {
    term: 'check <file...>',
    summary: 'finds every mistake in policy files, offline',
    load: async () => (await import('./commands/check.ts')).addCheck,
  },
  {
    term: 'plan <policy>',
    summary: 'shows what a run would do, and why; moves nothing',
    load: async () => (await import('./commands/plan.ts')).addPlan,
  },
  {
    term: 'run <policy>',
    summary: 'runs a policy, or attaches to its run',
    beginsTrace: true,
    load: async () => (await import('./commands/run.ts')).addRun,
  },
  {
    term: 'status [run]',
    summary: 'says in one sentence where runs stand',
    load: async () => (await import('./commands/status.ts')).addStatus,
  },
  {
    term: 'report <run>',
    summary: 'shows what a run did',
    load: async () => (await import('./commands/report.ts')).addReport,
  },
  {
    term: 'list',
    summary: 'lists runs, or those that need attention',
    load: async () => (await import('./commands/list.ts')).addList,
  },
  {
    term: 'watch',
    summary: 'tells a program or a webhook what needs attention',
    load: async () => (await import('./commands/watch.ts')).addWatch,
  },
  {
    term: 'cancel <run>',
    summary: 'cancels a run: what is not sent stays unsent',
    beginsTrace: true,
    load: async () => (await import('./commands/cancel.ts')).addCancel,
  },
  {
    term: 'approve <run>',
    summary: 'signs what a run will do, where the workers ask for it',
    beginsTrace: true,
    load: async () => (await import('./commands/approve.ts')).addApprove,
  },
  {
    term: 'resolve <run> <item>',
    summary: 'decides about an item that needs a person',
    beginsTrace: true,
    load: async () => (await import('./commands/resolve.ts')).addResolve,
  },
  {
    term: 'replay [run]',
    summary: 'resets a run, so that it tries again what is not done',
    load: async () => (await import('./commands/replay.ts')).addReplay,
  },
  {
    term: 'explain-reset <run>',
    summary: 'says what a reset would do, and to which events there is one',
    load: async () => (await import('./commands/explain-reset.ts')).addExplainReset,
  },
  {
    term: 'doctor [path...]',
    summary: 'checks key, clock, service, Temporal and workers, and says what to do',
    load: async () => (await import('./commands/doctor.ts')).addDoctor,
  },
  {
    term: 'halt',
    summary: 'stops every write of every worker, or of a policy or currency',
    load: async () => (await import('./commands/halt.ts')).addHalt,
  },
  {
    term: 'resume',
    summary: 'lets go on what was halted',
    load: async () => (await import('./commands/resume.ts')).addResume,
  },
  {
    term: 'schedule',
    summary: 'when policies run by themselves',
    load: async () => (await import('./commands/schedule.ts')).addSchedule,
    commands: SCHEDULE_COMMANDS,
  },
  {
    term: 'balances',
    summary: 'shows the balances at the service',
    load: async () => (await import('./commands/balances.ts')).addBalances,
  },
  {
    term: 'accounts',
    summary: 'lists the withdrawal accounts at the service',
    load: async () => (await import('./commands/accounts.ts')).addAccounts,
  },
  {
    term: 'ledger',
    summary: 'shows what the sandbox has booked',
    load: async () => (await import('./commands/ledger.ts')).addLedger,
  },
  {
    term: 'audit',
    summary: 'the journals in which workers keep what they send',
    load: async () => (await import('./commands/audit.ts')).addAudit,
    commands: AUDIT_COMMANDS,
  },
  {
    term: 'keys',
    summary: 'the keys that seal what is in Temporal',
    load: async () => (await import('./commands/keys.ts')).addKeys,
    commands: KEYS_COMMANDS,
  },
  {
    term: 'worker',
    summary: 'runs a worker',
    load: async () => (await import('./commands/worker.ts')).addWorker,
  },
  {
    term: 'sandbox',
    summary: 'runs the sandbox',
    load: async () => (await import('./commands/sandbox.ts')).addSandbox,
  },
  {
    term: 'temporal',
    summary: 'runs a Temporal dev server',
    load: async () => (await import('./commands/temporal.ts')).addTemporal,
  },
  {
    term: 'codec',
    summary: 'lets the Temporal UI show what is sealed',
    load: async () => (await import('./commands/codec.ts')).addCodec,
  },
  {
    term: 'completion <shell>',
    summary: 'prints a script for completion by Tab',
    needsAll: true,
    load: async () => (await import('./commands/completion.ts')).addCompletion,
  },
];

/** The name of a command. */
export function nameOf({ term }: CommandEntry): string {
  return term.split(' ')[0] ?? '';
}

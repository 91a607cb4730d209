/**
 * The codes with which commands and workers refuse or fail outside of any run: faults that keep them from starting, and
 * requests that a command refuses. Each code has the command's ending, its meaning, and what to do, as in `problems.ts`.
 */
import type { ProblemRow } from './endings.ts';

/** Faults that keep a worker or a command from starting, or from reaching a server or a file that it needs. */
export const START_PROBLEMS = {
  NOT_SET_UP: {
    ending: 'configuration',
    sentence:
      'Nothing is set up here: no `npx cambist up` runs in this folder, and no variable names a service.',
    advice: 'Type `npx cambist up` in this folder, in a second terminal, then the command again.',
  },
  MODE_MISSING: {
    ending: 'configuration',
    sentence: 'CAMBIST_APP_MODE is not set, or is neither SANDBOX nor LIVE.',
    advice:
      'Set CAMBIST_APP_MODE to SANDBOX or LIVE; there is no default, so that live money is never touched by accident.',
  },
  ADDRESS_MISSING: {
    ending: 'configuration',
    sentence: 'No service address is given.',
    advice: 'Set CAMBIST_BASE_URL.',
  },
  ADDRESS_NOT_URL: {
    ending: 'configuration',
    sentence: 'The service address is not a URL.',
    advice: 'Correct CAMBIST_BASE_URL.',
  },
  ADDRESS_SCHEME: {
    ending: 'configuration',
    sentence: 'The service address is neither https nor http.',
    advice: 'Correct CAMBIST_BASE_URL.',
  },
  ADDRESS_CREDENTIALS: {
    ending: 'configuration',
    sentence: 'The service address holds a user or password.',
    advice: 'Take them out of CAMBIST_BASE_URL.',
  },
  ADDRESS_QUERY: {
    ending: 'configuration',
    sentence: 'The service address holds a query or fragment.',
    advice: 'End CAMBIST_BASE_URL with `/v3`.',
  },
  ADDRESS_SUNSET: {
    ending: 'configuration',
    sentence: 'The service address is of a version that the service has given up.',
    advice: 'End CAMBIST_BASE_URL with `/v3`.',
  },
  ADDRESS_TRAILING_SLASH: {
    ending: 'configuration',
    sentence: 'The service address ends with a slash.',
    advice: 'End CAMBIST_BASE_URL with `/v3`.',
  },
  ADDRESS_VERSION: {
    ending: 'configuration',
    sentence: 'The service address names another version of the interface.',
    advice: 'End CAMBIST_BASE_URL with `/v3`.',
  },
  ADDRESS_PATH: {
    ending: 'configuration',
    sentence: 'The service address has another path than the interface.',
    advice: 'End CAMBIST_BASE_URL with `/v3`.',
  },
  ADDRESS_PLAIN_HTTP: {
    ending: 'configuration',
    sentence: 'The service would be reached over plain http, beyond this machine.',
    advice: 'Use https.',
  },
  SEAL_KEYS_MISSING: {
    ending: 'configuration',
    sentence: 'In live, keys seal everything that is in Temporal, and no file of keys is named.',
    advice: 'Make one by `npx cambist keys new FILE`, and set CAMBIST_SEAL_KEYS at every worker and command.',
  },
  SEAL_KEYS_UNREADABLE: {
    ending: 'configuration',
    sentence: 'The file of keys that seal what is in Temporal cannot be read, or is none.',
    advice: 'Set CAMBIST_SEAL_KEYS to a file that `npx cambist keys new` has made.',
  },
  SEAL_KEYS_TOO_OPEN: {
    ending: 'configuration',
    sentence: 'Other users may use the file of keys that seal what is in Temporal.',
    advice: 'Let only the user of the worker use it: `chmod 600 FILE`.',
  },
  SEAL_KEY_MISSING: {
    ending: 'configuration',
    sentence:
      'What Temporal has of the run is sealed by a key that the worker or the command does not have. Nothing is sent.',
    advice:
      'Put the newest file of keys (CAMBIST_SEAL_KEYS) at every worker and command. The run then goes on by itself.',
  },
  KEY_FILE_NOT_FOUND: {
    ending: 'configuration',
    sentence: 'The API key record is not there, or not named.',
    advice: 'Set CAMBIST_KEY_FILE to the path of the API key record (JSON with `name` and `privateKey`).',
  },
  KEY_FILE_UNREADABLE: {
    ending: 'configuration',
    sentence: 'The API key record cannot be read.',
    advice: 'Let the user of the worker read it, and no other user.',
  },
  KEY_FILE_TOO_OPEN: {
    ending: 'configuration',
    sentence:
      'In live: others may use the key file, or its group may write it. In sandbox, and where its group may only read it, this is a warning.',
    advice: 'Let only the user of the worker use it: `chmod 600 FILE`.',
  },
  KEY_NOT_JSON: {
    ending: 'configuration',
    sentence: 'The API key record is no JSON.',
    advice: 'Download the record again.',
  },
  KEY_FIELD_MISSING: {
    ending: 'configuration',
    sentence: 'The API key record lacks a field.',
    advice: 'Download the record again.',
  },
  KEY_NAME_FORMAT: {
    ending: 'configuration',
    sentence: 'The name in the API key record is not one of the service.',
    advice: 'Download the record again.',
  },
  KEY_NOT_PEM: {
    ending: 'configuration',
    sentence: 'The private key is not PKCS#8 PEM.',
    advice: 'Download the record again.',
  },
  KEY_PUBLIC: {
    ending: 'configuration',
    sentence: 'The key in the record is a public one.',
    advice: 'Put the private key there.',
  },
  KEY_ENCRYPTED: {
    ending: 'configuration',
    sentence: 'The private key is encrypted by a pass phrase.',
    advice: 'Decrypt it.',
  },
  KEY_SEC1: {
    ending: 'configuration',
    sentence: 'The private key is SEC1, not PKCS#8.',
    advice: 'Convert it.',
  },
  KEY_RSA: { ending: 'configuration', sentence: 'The key is an RSA key.', advice: 'Create a P-256 API key.' },
  KEY_WRONG_CURVE: {
    ending: 'configuration',
    sentence: 'The key is on another curve than P-256.',
    advice: 'Create a P-256 API key.',
  },
  BUILD_ID_INVALID: {
    ending: 'configuration',
    sentence: 'CAMBIST_BUILD_ID is no build id, or the name of the task queue allows none.',
    advice:
      'Use letters, digits, dots and dashes, for the task queue letters, digits, dashes and underscores; or unset it.',
  },
  SERVICE_FILE_NOT_FOUND: {
    ending: 'configuration',
    sentence: 'The service file cannot be read.',
    advice: 'Name a readable YAML file in CAMBIST_SERVICE_FILE, or unset it.',
  },
  DEV_ENVIRONMENT_REFUSED: {
    ending: 'configuration',
    sentence:
      'Cambist does not use the folder `.cambist` here: another user may write to it, or it holds something that `npx cambist up` does not write. Be careful in a folder that came from elsewhere.',
    advice: 'Delete the folder `.cambist`, or set the variables.',
  },
  TLS_CHECKS_OFF: {
    ending: 'configuration',
    sentence: 'In live: `NODE_TLS_REJECT_UNAUTHORIZED` is 0, so no certificate is checked.',
    advice: 'Unset it. A certificate authority of your own is named in NODE_EXTRA_CA_CERTS.',
  },
  TEMPORAL_ADDRESS_MISSING: {
    ending: 'configuration',
    sentence: 'In live, the address of Temporal must be named.',
    advice: 'Set TEMPORAL_ADDRESS.',
  },
  TEMPORAL_NAMESPACE_MISSING: {
    ending: 'configuration',
    sentence: 'In live, the namespace of Temporal must be named.',
    advice: 'Set TEMPORAL_NAMESPACE.',
  },
  TEMPORAL_NOT_SECURED: {
    ending: 'configuration',
    sentence: 'In live, Temporal must be reached by TLS, and must ask who its clients are.',
    advice: 'Set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or TEMPORAL_API_KEY.',
  },
  TEMPORAL_PROFILE: {
    ending: 'configuration',
    sentence: 'The variables or the profile file of Temporal cannot be used.',
    advice: 'Correct them.',
  },
  TEMPORAL_REFUSED: {
    ending: 'configuration',
    sentence: 'Temporal does not accept the API key or the certificate.',
    advice: 'Check the API key or the certificate, and what they may do.',
  },
  TEMPORAL_NAMESPACE: {
    ending: 'infrastructure',
    sentence: 'Temporal has no such namespace.',
    advice: 'Create it.',
  },
  TEMPORAL_UNREACHABLE: {
    ending: 'infrastructure',
    sentence: 'Temporal does not answer.',
    advice: 'Start it (`npx cambist up`, `npx cambist temporal`), or set TEMPORAL_ADDRESS.',
  },
  TEMPORAL_UNAVAILABLE: {
    ending: 'infrastructure',
    sentence: 'There is no Temporal dev server on this machine, and none could be fetched.',
    advice: 'Use one of the three ways that the message names.',
  },
  TEMPORAL_ERROR: {
    ending: 'infrastructure',
    sentence: 'Temporal answered with an error.',
    advice:
      'See that the Temporal server and its namespace are there (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE), then try again. What was started goes on.',
  },
  TEMPORAL_ENDED: {
    ending: 'infrastructure',
    sentence: 'The Temporal dev server ended by itself.',
    advice: 'Start it again; with --db nothing is lost.',
  },
  DEV_SERVER_FAILED: {
    ending: 'infrastructure',
    sentence: 'The Temporal dev server did not start.',
    advice: 'Mend what the message names.',
  },
  SEARCH_ATTRIBUTE_MISSING: {
    ending: 'configuration',
    sentence: 'The namespace does not have the search attributes of Cambist, and Cambist may not add them.',
    advice: 'Have an administrator add them.',
  },
  SEARCH_ATTRIBUTE_TYPE: {
    ending: 'configuration',
    sentence: 'The namespace has the search attributes with another type.',
    advice: 'Use another namespace.',
  },
  SEARCH_ATTRIBUTES_PENDING: {
    ending: 'infrastructure',
    sentence: 'The search attributes were added a moment ago, and Temporal does not take them yet.',
    advice: 'Try again in a minute.',
  },
  SERVICE_UNREACHABLE: {
    ending: 'infrastructure',
    sentence: 'The service does not answer.',
    advice: 'See that it runs, and that CAMBIST_BASE_URL is right.',
  },
  UP_ALREADY: {
    ending: 'refused by us',
    sentence: '`npx cambist up` runs in this folder already.',
    advice: 'Use that one, or end it first.',
  },
  WORKER_FAILED: {
    ending: 'infrastructure',
    sentence: 'The worker did not start; what it said stands above.',
    advice: 'Mend what it names, then try again.',
  },
  PORT_TAKEN: {
    ending: 'infrastructure',
    sentence: 'A port is taken.',
    advice: 'Name another one, or 0 for any free one.',
  },
  NO_WORKER: {
    ending: 'infrastructure',
    sentence: 'No worker answers.',
    advice: 'Start one with `npx cambist worker`; what was started goes on by itself.',
  },
  WORKFLOW_PAUSED: {
    ending: 'needs a human',
    sentence: 'A person has paused the workflow in Temporal: it does nothing, and answers no question.',
    advice: 'Press _Unpause_ at it in the Temporal UI; it then goes on by itself.',
  },
  RETENTION_SHORT: {
    ending: 'configuration',
    sentence: 'In its namespace, Temporal deletes ended runs too early for live (`doctor`).',
    advice: 'Have an administrator set a retention of at least 30 days.',
  },
  WORKER_VERSION_DIFFERS: {
    ending: 'configuration',
    sentence: 'A worker has another version than the command line (`doctor`).',
    advice: 'Start all workers with the version of the command line.',
  },
  BUILD_WITHOUT_WORKER: {
    ending: 'infrastructure',
    sentence: 'Temporal gives work to a build that has no worker.',
    advice: 'Start a worker of that build (CAMBIST_BUILD_ID), or make another build current.',
  },
  BUILD_NOT_CURRENT: {
    ending: 'infrastructure',
    sentence: 'The workers of a build get no work: Temporal gives it to another build.',
    advice: 'Make their build current by the command that is shown, or end them.',
  },
  RUNS_LOST: {
    ending: 'needs a human',
    sentence: 'The service has records of runs that Temporal does not know (`doctor`).',
    advice: 'After a restore of Temporal, start those runs again under their ids: they adopt what was done.',
  },
  HALT_RECORD_ENDED: {
    ending: 'needs a human',
    sentence: 'A person has ended the workflow that keeps what is halted (`doctor`).',
    advice:
      'Find out who ended it, and why. What was halted stays halted. A worker, or the next `npx cambist halt`, starts the workflow again.',
  },
  CHECK_TOO_SLOW: {
    ending: 'infrastructure',
    sentence: 'What `doctor` asked did not answer in time.',
    advice: 'See that it is there and not overloaded, then try again.',
  },
  UNEXPECTED: {
    ending: 'infrastructure',
    sentence: 'Something happened that this program does not expect.',
    advice: 'This is most likely a fault of this program: report it with what you typed.',
  },
} as const satisfies Readonly<Record<string, ProblemRow>>;

/** Requests that a command refuses. */
export const REFUSALS = {
  BAD_COMMAND_LINE: {
    ending: 'bad input',
    sentence: 'What you typed is not a command of Cambist.',
    advice: 'See `npx cambist --help`, or `--help` after a command.',
  },
  SEAL_KEYS_UNNAMED: {
    ending: 'bad input',
    sentence: 'No file of keys is named, neither in the command nor by CAMBIST_SEAL_KEYS.',
    advice: 'Name the file, or set CAMBIST_SEAL_KEYS.',
  },
  SEAL_KEYS_THERE: {
    ending: 'bad input',
    sentence: 'There is a file already where new keys should be written.',
    advice: 'Name a new file, or add a key to this one by `npx cambist keys rotate`.',
  },
  SEAL_KEYS_STEP: {
    ending: 'bad input',
    sentence: 'A new key comes into use in two steps, and the other step comes first.',
    advice:
      'Add a key by `npx cambist keys rotate`, bring the file to every worker and command, then let it seal by --activate.',
  },
  SEAL_KEYS_UNWRITABLE: {
    ending: 'bad input',
    sentence: 'The file of keys cannot be written.',
    advice: 'Name a file in a folder that is there and that you may write to.',
  },
  FILE_NOT_FOUND: {
    ending: 'bad input',
    sentence: 'There is no such file.',
    advice: 'Correct the path.',
  },
  AUDIT_UNWRITABLE: {
    ending: 'configuration',
    sentence:
      'The worker cannot begin a journal in the folder that CAMBIST_AUDIT names, so it does not start; or, in its log, it cannot write a line.',
    advice: 'Name a folder that is there, has room and that the worker may write to, or unset the variable.',
  },
  AUDIT_CHANGED: {
    ending: 'needs a human',
    sentence: 'A line of a worker’s journal was changed, cut out, added or moved.',
    advice: 'Compare the file with the copy that was shipped. What comes after this line proves nothing.',
  },
  AUDIT_UNEXPLAINED: {
    ending: 'needs a human',
    sentence:
      'The service has a trade or withdrawal of which no line of the journals says that a worker sent it.',
    advice:
      'See whether a journal is missing, or who else has a key of the organisation. If nobody of yours has made it, `npx cambist halt` and replace the keys.',
  },
  AUDIT_FOREIGN: {
    ending: 'bad input',
    sentence: 'A journal is of another organisation or mode than the key that is configured here.',
    advice: 'Verify it where the key and the mode are those of its first line.',
  },
  RESULTS_UNWRITABLE: {
    ending: 'bad input',
    sentence:
      'The results of a batch cannot be written where `--out` says, or its corrected file where `--fix` says.',
    advice: 'Name another file, in a folder that you may write to. The run is as it was.',
  },
  FILE_UNREADABLE: {
    ending: 'configuration',
    sentence: 'The file cannot be read.',
    advice:
      'Let the user who types the command read the file, or, where the log of a worker names a journal, the user of the worker.',
  },
  HALT_NOT_KEPT: {
    ending: 'infrastructure',
    sentence:
      'The halt could not be kept: a person or a program ends the workflow that keeps it, again and again.',
    advice: 'See who ends the workflow `<mode>/halt` in the Temporal UI. Until then, stop the workers.',
  },
  HALT_DRILL_FAILED: {
    ending: 'infrastructure',
    sentence: 'In a drill, a worker did not say in time that a halt stops it.',
    advice:
      'If that worker still runs, end it. If it has ended, drill again in a minute: until then Temporal still names it.',
  },
  BATCH_OF_OTHER_KIND: {
    ending: 'bad input',
    sentence: 'Only policies of kind payout take a batch.',
    advice: 'Leave --batch out; a convert policy lists its payments under `withdraw`.',
  },
  BATCH_MISSING: {
    ending: 'bad input',
    sentence: 'A payout is to be started or planned, and its file of payments is not named.',
    advice: 'Name the file by --batch.',
  },
  BATCH_REFUSED: {
    ending: 'bad input',
    sentence: 'The file of payments has mistakes, so none of it is submitted.',
    advice: 'Correct the file, then type the same again.',
  },
  BATCH_FILE_CHANGED: {
    ending: 'refused by us',
    sentence: 'The file of payments changed while it was being submitted.',
    advice: 'See that no program writes to it, then type the same again.',
  },
  LOOKALIKES: {
    ending: 'refused by us',
    sentence:
      'The service has withdrawals with the account, currency and amount of payments of the batch, and no run of Cambist has made them.',
    advice:
      'Look at them. If none of them is a payment of this batch, type the same command with --go-on LIST, --reason and --by. The message names the LIST.',
  },
  LOOKALIKE: {
    ending: 'refused by us',
    sentence: 'A withdrawal pays the same account the same amount as a payment of the batch.',
    advice: 'See LOOKALIKES.',
  },
  MADE_BEFORE: {
    ending: 'refused by us',
    sentence: 'Other runs have made the same payments under other names.',
    advice:
      'Look at them. If they are to be made all the same, type the same command with --again LIST; --yes is not enough. The message names the LIST.',
  },
  PAID_ALREADY: {
    ending: 'refused by us',
    sentence: 'Another run has paid the same amount to the same account under another name.',
    advice: 'See MADE_BEFORE.',
  },
  BATCH_ROW_NEW: {
    ending: 'refused by us',
    sentence: 'A row of the file is not in the batch that was submitted under this id.',
    advice: 'See BATCH_CHANGED.',
  },
  BATCH_ROW_GONE: {
    ending: 'refused by us',
    sentence: 'A payment of the batch that was submitted under this id is not in the file any more.',
    advice: 'See BATCH_CHANGED.',
  },
  BATCH_ROW_CHANGED: {
    ending: 'refused by us',
    sentence: 'A row of the file says something else than the batch that was submitted under this id.',
    advice: 'See BATCH_CHANGED.',
  },
  SCHEDULE_MISSING: {
    ending: 'bad input',
    sentence: 'The policy has no `schedule`.',
    advice: 'Write one into the policy: `schedule: { at: "09:30", days: weekdays }`.',
  },
  SCHEDULE_NAME_TWICE: {
    ending: 'bad input',
    sentence: 'Two of the files are policies of the same name, and each would replace the other’s schedule.',
    advice: 'Give one of them another name, or leave it out.',
  },
  NO_POLICIES: {
    ending: 'bad input',
    sentence: 'The folder holds no policy of this mode.',
    advice: 'Name the folder in which the policies are; folders inside it are not read.',
  },
  SCHEDULE_NOT_FOUND: {
    ending: 'bad input',
    sentence: 'Temporal has no schedule of Cambist for the policy.',
    advice: 'See `npx cambist schedule list`; make it with `npx cambist schedule apply`.',
  },
  SCHEDULE_DATES: {
    ending: 'bad input',
    sentence: 'The dates name no time at which the schedule would have started a run.',
    advice: 'Write dates like 2026-11-23, the first one first, today the latest.',
  },
  SCHEDULE_CONTESTED: {
    ending: 'infrastructure',
    sentence: 'Another person changes the schedule at the same time.',
    advice: 'See `npx cambist schedule list`, then type it again.',
  },
  SCHEDULE_SILENT: {
    ending: 'infrastructure',
    sentence: 'Temporal accepted the request, but started nothing.',
    advice: 'An earlier start may still be under way: see `npx cambist schedule list`, then try again.',
  },
  SCHEDULE_MISSED: {
    ending: 'refused by us',
    sentence: 'A run of a schedule was not started in time: Temporal, the workers or the service were away.',
    advice:
      'If it is still wanted today, start it with `npx cambist schedule trigger`, or by `npx cambist run`. If not, type `npx cambist list --acknowledge RUN`.',
  },
  SCHEDULE_ENDS: {
    ending: 'configuration',
    sentence:
      'The last date of a schedule is near or past; the schedule starts nothing after that date (`doctor`).',
    advice: 'If it is to go on, change `end:` in the policy and apply it again.',
  },
  HOLIDAYS_RUN_OUT: {
    ending: 'configuration',
    sentence: 'A policy lists its days off, and none of them is in the year that begins soon (`doctor`).',
    advice: 'Write the next dates into `holidays:` and apply the policy again.',
  },
  SCHEDULE_NOT_APPLIED: {
    ending: 'configuration',
    sentence: 'A policy file has a schedule, but Temporal has no schedule of that policy (`doctor`).',
    advice: 'Apply it with `npx cambist schedule apply`.',
  },
  SCHEDULE_DIFFERS: {
    ending: 'configuration',
    sentence: 'The schedule in Temporal is not as the policy file has it (`doctor`).',
    advice: 'See what differs with `npx cambist schedule apply --dry-run`, then apply it.',
  },
  SCHEDULE_LATE: {
    ending: 'waiting',
    sentence: 'A run of a schedule is not started yet, and is tried again.',
    advice: 'See that Temporal, a worker and the service are there; what it waits for stands beside it.',
  },
  WATCH_RECEIVER: {
    ending: 'bad input',
    sentence: 'It is not clear whom `watch` should tell.',
    advice:
      'Give either --exec PROGRAM, or --webhook URL with --secret FILE; the URL is https, or of this machine.',
  },
  WATCH_SECRET_UNUSABLE: {
    ending: 'configuration',
    sentence: 'The file with the secret of a webhook cannot be used.',
    advice: 'Put at least 32 random characters into a plain file that only you may read (mode 0600).',
  },
  WATCH_STATE_UNUSABLE: {
    ending: 'configuration',
    sentence: 'The file in which `watch` keeps what it has told cannot be used.',
    advice: 'Let each `npx cambist watch` have a file of its own (--state), which nobody else writes.',
  },
  METRICS_ADDRESS_INVALID: {
    ending: 'configuration',
    sentence: 'CAMBIST_METRICS is no address at which a worker could show its metrics.',
    advice: 'Set it to an IP address and a port, such as `127.0.0.1:9464`, or unset it.',
  },
  METRICS_UNSERVED: {
    ending: 'configuration',
    sentence: 'A worker cannot show its metrics at the address in CAMBIST_METRICS.',
    advice:
      'Give each worker of a machine a port of its own, which no other program uses, and an address that the machine has.',
  },
  TRACES_UNSENT: {
    ending: 'configuration',
    sentence:
      'A warning: no spans are sent, because the collector takes none, or a variable of OpenTelemetry is wrong. Nothing else is held up.',
    advice:
      'Start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT; it speaks OTLP over HTTP with protobuf. Unset the variable to trace nothing.',
  },
  HALT_FOLDER_MISSING: {
    ending: 'configuration',
    sentence:
      'CAMBIST_HALT_FILE names a file in a folder that is not there, so no person could halt this worker by it.',
    advice: 'Name a file in a folder that is on the disk of this machine, or unset the variable.',
  },
  POLICIES_MISSING: {
    ending: 'configuration',
    sentence:
      'A worker of live has no folder of policies. Then whoever may write to Temporal could decide what it sends.',
    advice:
      'Set CAMBIST_POLICIES of the worker to a folder on its machine, with the policies that it may carry out.',
  },
  POLICIES_UNUSABLE: {
    ending: 'configuration',
    sentence:
      'CAMBIST_POLICIES names a folder without a policy of the mode that can be used, so that the worker could send nothing.',
    advice:
      'Name the folder of the policies that this worker may carry out. `npx cambist check` checks each of them.',
  },
  POLICIES_DAMAGED: {
    ending: 'configuration',
    sentence:
      'A file in the folder of policies of this machine cannot be used, and allows nothing (`doctor`, the log of a worker).',
    advice: 'Mend the file that it names. `npx cambist check` checks a policy.',
  },
  APPROVALS_UNVERIFIABLE: {
    ending: 'configuration',
    sentence:
      'The folder of policies asks for signatures, and this machine has no `ssh-keygen` that can verify them.',
    advice: 'Install OpenSSH, version 8.2 or later, where the workers are.',
  },
  POLICIES_OVER: {
    ending: 'configuration',
    sentence: 'A replaced policy in the folder of policies counts for no run any more (`doctor`).',
    advice: 'Delete it from `finishing/`, unless a payment of such a run is still to be paid again.',
  },
  FILES_FOLDER_MISSING: {
    ending: 'configuration',
    sentence: 'A scheduled policy names a file, and the worker has no folder to read it from.',
    advice: 'Set CAMBIST_FILES of the worker to the folder of the file, then trigger the schedule.',
  },
  FILE_OUTSIDE_FOLDER: {
    ending: 'configuration',
    sentence: 'A scheduled policy names a file outside the folder of the worker.',
    advice: 'Put the file into the folder (CAMBIST_FILES), and name it by its path in there.',
  },
  SANDBOX_INPUT: {
    ending: 'bad input',
    sentence: 'What the sandbox was started with cannot be used.',
    advice: 'Correct it, then start again.',
  },
  SANDBOX_ADMIN_MISSING: {
    ending: 'configuration',
    sentence: 'The admin address of the sandbox is not known.',
    advice: 'Set it to the admin address that `npx cambist sandbox` prints.',
  },
  SANDBOX_ADMIN_FOREIGN: {
    ending: 'configuration',
    sentence: 'The admin address is of no sandbox on this machine.',
    advice: 'Give it as `npx cambist sandbox` prints it, like "http://127.0.0.1:7301".',
  },
  SANDBOX_UNREACHABLE: {
    ending: 'infrastructure',
    sentence: 'The sandbox does not answer.',
    advice: 'See that the sandbox runs (`npx cambist up`, or `npx cambist sandbox`), then try again.',
  },
  RUN_NAME: {
    ending: 'bad input',
    sentence: 'What you typed is not the name of a run.',
    advice: 'Write policy and id with a dot, as `npx cambist list` shows them: mxn-supplier.2026-11-21.',
  },
  RUN_NOT_FOUND: {
    ending: 'bad input',
    sentence: 'Temporal does not know the run, or not any more.',
    advice: 'See `npx cambist list`.',
  },
  RUN_ID: {
    ending: 'bad input',
    sentence: 'What you typed is not the id of a run.',
    advice: 'Begin it with a calendar date: 2026-11-21, or 2026-11-21-second.',
  },
  RUN_ID_FUTURE: {
    ending: 'bad input',
    sentence: 'The date of the id is in the future.',
    advice: 'Start it on its date.',
  },
  RUN_ID_PAST: {
    ending: 'bad input',
    sentence: 'The date of the id is over, and neither Temporal nor the service knows such a run.',
    advice: 'Leave --id out. `npx cambist list` shows the runs that there are.',
  },
  EARLIER_RUN_OPEN: {
    ending: 'refused by us',
    sentence: 'The run of an earlier date has something that is not done.',
    advice: 'See `npx cambist status` of it. Then go on with it, or start the run of today by --id.',
  },
  DATE_TRADED: {
    ending: 'refused by us',
    sentence: 'The policy has moved money on this date already.',
    advice:
      'If money is to move once more, type the same with --again (--yes is not enough). If not, `npx cambist list` shows the runs that there are.',
  },
  DONE_ALREADY: {
    ending: 'refused by us',
    sentence: 'Another run of the date has done the same already.',
    advice: 'See DATE_TRADED.',
  },
  RUN_OPEN: {
    ending: 'refused by us',
    sentence: 'The run has not ended yet, so it may still pay.',
    advice: 'Wait for its end (`npx cambist run … --wait`).',
  },
  RUN_CANCELLED: {
    ending: 'refused by us',
    sentence: 'The run is cancelled, so one item of it cannot go on alone.',
    advice: 'Take the cancel back first: --go-on without an item goes on with everything that is not done.',
  },
  SUPERSEDED: {
    ending: 'refused by us',
    sentence: 'Another run has taken the place of this one. Nothing of this one is sent any more.',
    advice: 'Go on with the other run. This cannot be taken back.',
  },
  SAID_SINCE: {
    ending: 'refused by us',
    sentence:
      'A person has said something about the run after this command had read it. What you typed is not kept.',
    advice: 'See what was said (`npx cambist status RUN`). If you still mean it, type the command again.',
  },
  SAID_TOO_LATE: {
    ending: 'infrastructure',
    sentence: 'No worker took what you typed within five minutes. It is not kept.',
    advice: 'See that a worker is there, and that the clock of this machine is right. Then type it again.',
  },
  TOO_MUCH_SAID: {
    ending: 'refused by us',
    sentence: 'So much is said about the run that Cambist keeps only a cancel. What you typed is not kept.',
    advice: 'Cancel the run, and start another one for what is left of it. Find out who has said so much.',
  },
  NO_SUCH_EVENT: {
    ending: 'bad input',
    sentence: 'Temporal cannot reset the run to the event that you named.',
    advice: '`npx cambist explain-reset RUN` lists the events that it takes, each with its step.',
  },
  RESET_REFUSED: {
    ending: 'bad input',
    sentence: 'Temporal refused the reset.',
    advice: '`npx cambist explain-reset RUN` lists the events that it takes, each with its step.',
  },
  RESET_UNCLEAR: {
    ending: 'infrastructure',
    sentence: 'Temporal did not say whether it has reset the run.',
    advice: 'See `npx cambist status`, then type the same again: another reset moves no money twice.',
  },
  NOT_CONFIRMED: {
    ending: 'refused by us',
    sentence: 'The command asks for a yes before money moves, now or by a schedule, and got none.',
    advice: 'Answer `yes`, or type the command with --yes.',
  },
  NOT_SIGNED: {
    ending: 'configuration',
    sentence: '`ssh-keygen` could not sign with the key that was named.',
    advice:
      'Name a private key of OpenSSH, or its public part where an agent or a hardware key has the rest. OpenSSH 8.2 or later can sign.',
  },
  PLAN_DIFFERS: {
    ending: 'refused by us',
    sentence:
      'The plan of the run does not do what the file says that `plan --out` wrote. Nothing was signed.',
    advice:
      'Compare the two: `npx cambist approve RUN --out FILE` writes the plan of the run. Sign only what you have agreed to.',
  },
  SIGNED_AS_OTHER: {
    ending: 'refused by us',
    sentence:
      'All that is left to sign, this key has signed in the other role. Who has started, said or resumed something is none of those who approve it, so that a second signature would only void the first. Nothing was signed.',
    advice: 'Another person signs this: see who is missing with `npx cambist status`.',
  },
  SIGNATURES_UNVERIFIED: {
    ending: 'refused by us',
    sentence:
      'So many signatures name this key that not all of them could be verified. With one of them it may have signed in the other role, and a second signature would void the first. Nothing was signed.',
    advice:
      'Another person signs this: see who is missing with `npx cambist status`. Somebody writes words that are not his: find out who may write to the namespace.',
  },
  RUN_ENDED: {
    ending: 'refused by us',
    sentence: 'The run has ended, so that there is nothing to sign.',
    advice: 'See `npx cambist report`.',
  },
  NO_PLAN: {
    ending: 'refused by us',
    sentence: 'Temporal shows no plan of the run.',
    advice: 'See `npx cambist status RUN`. If the run has ended, start it again with --go-on.',
  },
  ITEM_NOT_FOUND: {
    ending: 'bad input',
    sentence: 'The plan has no such leg or payment.',
    advice: 'Name one that it has.',
  },
  ITEM_ENDED: {
    ending: 'refused by us',
    sentence: 'The item has ended already.',
    advice: 'There is nothing to decide.',
  },
  ITEM_NOT_IN_QUESTION: {
    ending: 'refused by us',
    sentence: 'The item needs no decision now.',
    advice: 'See `npx cambist status`.',
  },
  ITEM_DONE: {
    ending: 'refused by us',
    sentence: 'The item is done, and the service shows its record.',
    advice: 'There is nothing to decide.',
  },
  ITEM_HAS_RECORD: {
    ending: 'refused by us',
    sentence: 'The service has a record of the item, and a record counts more than a decision.',
    advice: 'Nothing to do: the run follows it to its end.',
  },
  NOTHING_TO_ACCEPT: {
    ending: 'refused by us',
    sentence: 'No trade waits for a person to accept it.',
    advice: '`npx cambist status` says what the run waits for.',
  },
  NOTHING_TO_ACKNOWLEDGE: {
    ending: 'bad input',
    sentence: 'The run needs no person now.',
    advice: 'See `npx cambist list --attention`.',
  },
  DECISION_INCOMPLETE: {
    ending: 'bad input',
    sentence: 'The decision is not complete.',
    advice: 'Say who decides, why, and what.',
  },
  AMOUNT_NOT_KNOWN: {
    ending: 'refused by us',
    sentence: 'The amount of a payment is not known yet, so no record can be compared with it.',
    advice: 'Decide about the leg first.',
  },
  RECORD_ID: {
    ending: 'bad input',
    sentence: 'That is no id of a record.',
    advice: 'Name the id as the service shows it: of a trade for a leg, of a withdrawal for a payment.',
  },
  RECORD_NOT_FOUND: {
    ending: 'bad input',
    sentence: 'The service shows no such record.',
    advice: 'Name the record that the service shows.',
  },
  RECORD_FOUND: {
    ending: 'refused by us',
    sentence: 'The service has a record of the item.',
    advice: 'Nothing to decide: the run adopts it.',
  },
  PAYMENT_OPEN: {
    ending: 'refused by us',
    sentence: 'It is not known whether the payment is paid, so it cannot be paid again yet.',
    advice:
      'Start the run again with --go-on: it finds out at the service what became of the payment. If that ends as not paid, type this again.',
  },
  PAYMENT_NEVER_SENT: {
    ending: 'refused by us',
    sentence: 'Nothing was ever sent for the payment.',
    advice: 'Start the run again with --go-on: that pays it under its first reference.',
  },
  PAYMENT_STANDS: {
    ending: 'refused by us',
    sentence: 'The service has a withdrawal of the payment that has not failed.',
    advice:
      'Nothing to do as long as it has not failed. Start the run with --go-on to bring its report up to date.',
  },
  PAYMENT_COULD_STAND: {
    ending: 'refused by us',
    sentence: 'The service has a withdrawal that carries no reference and could be this payment.',
    advice: 'Find out whose it is. If it is another one, pay this one in a new run.',
  },
  PAY_AGAIN_OPEN: {
    ending: 'refused by us',
    sentence: 'A person has said already that this payment is to be paid again, and that is not done yet.',
    advice:
      'Start the run with --go-on: that pays it. If it then waits for signatures, those who are missing type `npx cambist approve RUN --key FILE`.',
  },
} as const satisfies Readonly<Record<string, ProblemRow>>;

export type CommandCode = keyof typeof START_PROBLEMS | keyof typeof REFUSALS;

/**
 * The two errors that this folder throws. Everything that happens on the wire is a `Reply`, never an error.
 * Neither error may ever hold a private key, a token, a signature or the text that was being parsed.
 */

/** Every way in which the address or the key record can be wrong. */
export type ConfigurationCode =
  | 'ADDRESS_MISSING'
  | 'ADDRESS_NOT_URL'
  | 'ADDRESS_SCHEME'
  | 'ADDRESS_CREDENTIALS'
  | 'ADDRESS_QUERY'
  | 'ADDRESS_SUNSET'
  | 'ADDRESS_TRAILING_SLASH'
  | 'ADDRESS_VERSION'
  | 'ADDRESS_PATH'
  | 'ADDRESS_PLAIN_HTTP'
  | 'KEY_FILE_NOT_FOUND'
  | 'KEY_FILE_UNREADABLE'
  | 'KEY_FILE_TOO_OPEN'
  | 'KEY_NOT_JSON'
  | 'KEY_FIELD_MISSING'
  | 'KEY_NAME_FORMAT'
  | 'KEY_NOT_PEM'
  | 'KEY_PUBLIC'
  | 'KEY_ENCRYPTED'
  | 'KEY_SEC1'
  | 'KEY_RSA'
  | 'KEY_WRONG_CURVE';

/** What is wrong in a configuration, where, why, and how to mend it. Safe to print. */
export type ConfigurationProblem = {
  readonly code: ConfigurationCode;
  /** The variable, file or field, as a person would point at it. */
  readonly place: string;
  readonly problem: string;
  readonly fix: string;
};

/** The service's address or the API key cannot be used: a fault of configuration, mended by a person. */
export class ServiceConfigurationError extends Error {
  override readonly name = 'ServiceConfigurationError';
  readonly code: ConfigurationCode;
  readonly place: string;
  readonly problem: string;
  readonly fix: string;

  constructor(problem: ConfigurationProblem) {
    super(`${problem.place}: ${problem.problem} ${problem.fix}`);
    this.code = problem.code;
    this.place = problem.place;
    this.problem = problem.problem;
    this.fix = problem.fix;
  }
}

/** Every input that the client refuses before it signs anything. */
export type InputCode =
  | 'BAD_ID'
  | 'BAD_CURRENCY'
  | 'BAD_AMOUNT'
  | 'BAD_REFERENCE'
  | 'BAD_IDEMPOTENCY_KEY'
  | 'BAD_PAGE'
  | 'BAD_TIME_LIMIT'
  | 'BAD_KEY';

/** A caller's mistake: the request was never built, nothing was sent, and the same again fails again. */
export class ServiceInputError extends Error {
  override readonly name = 'ServiceInputError';
  readonly code: InputCode;

  constructor(code: InputCode, message: string) {
    super(message);
    this.code = code;
  }
}

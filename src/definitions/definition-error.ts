import { RuntimeError } from '../core/errors.ts'

/** Why a definition is refused, in words for its author; `line` counts from 1 in the file. */
export class DefinitionError extends RuntimeError {
  readonly line: number | undefined

  constructor(message: string, line?: number) {
    super('bad-definition', message)
    this.line = line
  }
}

/** Throws a `DefinitionError`. */
export function refuse(message: string, line?: number): never {
  throw new DefinitionError(message, line)
}

/** Something an author should know about a definition that loads all the same. */
export type Warning = { message: string; line?: number }

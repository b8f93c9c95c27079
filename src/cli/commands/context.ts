import type { Command } from 'commander'
import type { ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'

/** What a command is made with. `finish` takes the exit code of its action. */
export type Context = { io: Io; finish(code: ExitCode): void }

/** Adds one command to the program. */
export type AddCommand = (program: Command, context: Context) => void

/** The public API of Troupe. */
export type { AgentDefinition, AgentLimits, Diagnostic, SkillDefinition } from './core/agent.ts'
export { type Config, configSchema } from './core/config.ts'
export { type ErrorData, RuntimeError } from './core/errors.ts'
export type { EventBody, JobState, PermissionAsk, RunJob, RunStatus, RuntimeEvent } from './core/events.ts'
export type { AskId, CallId, JobId, SessionId } from './core/ids.ts'
export type { JsonSchema, ModelProfile, ToolSpec, Usage } from './core/model.ts'
export type {
  Action,
  AskAnswer,
  AskKind,
  GrantScope,
  JudgedUnit,
  PermissionMode,
  Place,
  Rule,
} from './core/permission.ts'
export type { EndState, JobResult, JournalRecord, Todo } from './core/records.ts'
export { createTroupe, type RunOptions, type Troupe, type TroupeOptions } from './create-troupe.ts'
export type { TrustState } from './definitions/trust.ts'
export type { Explained, PermissionQuestion, PermissionsView } from './explain-permissions.ts'
export type { JobRow } from './jobboard/create-board.ts'
export { type FoundSandbox, probeSandbox } from './sandbox/probe-sandbox.ts'
export {
  type ChangeScope,
  diffChanges,
  type JobDiff,
  type RunDiff,
  type UndoOutcome,
  undoChanges,
} from './saved-changes.ts'
export { type FileRow, listFiles, listJobs, type SavedJob } from './saved-files.ts'
export { listSessions, readTranscript } from './saved-sessions.ts'
export * from './servers.ts'
export type { TranscriptLine } from './session/transcript.ts'
export { dataDir } from './store/data-dir.ts'
export type { StoredAnswer } from './store/stored-answers.ts'
export type { Run } from './supervisor/create-supervisor.ts'
export type { RunFinished } from './supervisor/runs.ts'
export { examineTrust, refuseFolder, trustFolder } from './trust-folder.ts'

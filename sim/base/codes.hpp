// Every code that an error or a warning may carry, with its meaning; the README's list is made of it. Codes
// are stable.
#pragma once
#include <string_view>

namespace rehearse {

struct Code {
  std::string_view code;
  std::string_view meaning;  // one line
};

inline constexpr Code kCodes[] = {
    // command line and files
    {"E-CLI", "a command, option or argument is unknown, missing or given twice"},
    {"E-SET", "a --set is not KEY.PATH=VALUE, or sets below something that is not a mapping"},
    {"E-FILE-MISSING", "a file or a shipped name does not exist"},
    {"E-FILE-READ", "a file cannot be read"},
    {"E-FILE-WRITE", "a file cannot be written"},
    {"E-SYSTEM", "the system gives no memory, process or descriptor, or refuses a path"},
    // YAML
    {"E-YAML-SYNTAX", "not valid YAML"},
    {"E-YAML-EMPTY", "no document in it"},
    {"E-YAML-DOCUMENTS", "more than one document, or text after its end"},
    {"E-YAML-DUPLICATE", "a key stands twice in one mapping"},
    {"E-YAML-KEY", "a key is empty, a list or a mapping"},
    {"E-YAML-ANCHOR", "anchors are not accepted"},
    {"E-YAML-ALIAS", "aliases are not accepted"},
    {"E-YAML-MERGE", "merge keys are not accepted"},
    {"E-YAML-TAG", "tags are not accepted"},
    {"E-YAML-DIRECTIVE", "directives are not accepted"},
    {"E-YAML-DEPTH", "nested too deeply"},
    {"E-YAML-SIZE", "too long"},
    {"E-YAML-ENCODING", "not UTF-8 text, or a control character in it"},
    // keys and values
    {"E-KEY-UNKNOWN", "a key that nothing reads"},
    {"E-KEY-MISSING", "a key that must be there is not"},
    {"E-TYPE", "a value of the wrong kind: a list for a number, a quoted number, nothing"},
    {"E-NUMBER", "not a plain decimal number"},
    {"E-RANGE", "a number outside its bounds"},
    {"E-UNIT", "a quantity without a unit, or with one of another dimension"},
    {"E-CHOICE", "a word that is not one of the valid ones"},
    {"E-NOT-MODELLED", "known, but not simulated yet"},
    // model and cluster
    {"E-MODEL-HEADS", "hidden is not a multiple of heads and head_dim is not given"},
    {"E-MODEL-KV-HEADS", "heads is not a multiple of kv_heads"},
    {"E-CLUSTER-NICS", "neither of GPUs and NICs of a node divides the other"},
    {"E-CLUSTER-SIZE", "more GPUs or links than can be numbered"},
    {"E-CLUSTER-KEY", "a key that this kind of node or network has no use for"},
    {"E-CLUSTER-PAIRS", "NVLink pairs in a node of an odd number of GPUs"},
    {"E-CLUSTER-PCIE", "the GPUs of a PCIe switch do not divide those of a node"},
    {"E-CLUSTER-TIERS", "a switch is not above two or more whole ones of the tier below"},
    {"E-CLUSTER-DIMS",
     "the dimensions of a torus do not multiply to its nodes, or are none or more than three"},
    {"E-CLUSTER-WIRE", "a link of a network that joins what is not there, itself, or the same two again"},
    {"E-CLUSTER-OVERRIDE", "an override that names nothing, the same again, or not what it does"},
    {"E-CLUSTER-CUT", "a network in which some GPUs cannot reach others"},
    {"E-CLUSTER-PLACEMENT", "a placement that is not a GPU for each rank"},
    // layout
    {"E-LAYOUT-GPUS", "tp x cp x pp x dp is not the number of GPUs"},
    {"E-LAYOUT-ORDER", "order is not the axes from inside out, or leaves out one of size above 1"},
    {"E-LAYOUT-HEADS", "heads is not a multiple of tp"},
    {"E-LAYOUT-KV-HEADS", "neither of tp and kv_heads divides the other"},
    {"E-LAYOUT-HIDDEN", "hidden is not a multiple of tp"},
    {"E-LAYOUT-FFN", "ffn is not a multiple of tp"},
    {"E-LAYOUT-LAYERS", "layers is not a multiple of pp x chunks"},
    {"E-LAYOUT-STAGES", "stage_layers has another count than pp x chunks, or another sum than layers"},
    {"E-LAYOUT-SEQUENCE", "sequence_parallel without tp, or over a sequence that tp does not divide"},
    {"E-LAYOUT-SCATTER", "scatter_gather without tp or without pp"},
    // batch, recompute, overlap
    {"E-BATCH-GLOBAL", "the global batch is not a multiple of micro x dp, or has too many micro-batches"},
    {"E-BATCH-SEQUENCE", "no sequence length, or one beyond the model's table of positions"},
    {"E-BATCH-TOKENS", "a micro-batch of too many tokens"},
    {"E-RECOMPUTE-LAYERS", "full_layers is more than a chunk has"},
    {"E-OVERLAP-GATHER", "param_gather without a sharded optimizer"},
    // profile
    {"E-PROFILE-DTYPE", "the profile has no peak for the precision"},
    {"E-PROFILE-STACK", "an unknown or repeated set of software constants"},
    {"E-PROFILE-CSV", "a table of the profile cannot be read"},
    {"E-PROFILE-TABLE", "two tables where the profile must have one"},
    // collectives
    {"E-AGAINST", "measured collectives to compare with that cannot be read, or are of another group"},
    {"E-NCCL-ALGO", "no algorithm and protocol of NCCL that is allowed can run a collective"},
    // schedule
    {"E-SCHEDULE-NAME", "no schedule has this name"},
    {"E-SCHEDULE-FILE", "the schedule's file cannot be read"},
    {"E-SCHEDULE-CSV", "a line of the schedule is not stage,kind,chunk,micro"},
    {"E-SCHEDULE-SHAPE", "a pipeline of no stages, micro-batches or chunks, or of too many actions"},
    {"E-SCHEDULE-CHUNKS", "the schedule takes another number of chunks"},
    {"E-SCHEDULE-MICRO", "the schedule cannot run this number of micro-batches"},
    {"E-SCHEDULE-RANGE", "an action names a stage, chunk or micro-batch that does not exist"},
    {"E-SCHEDULE-STAGE", "an action stands on a stage that does not hold its chunk"},
    {"E-SCHEDULE-TWICE", "an action stands twice"},
    {"E-SCHEDULE-MISSING", "an action is missing"},
    {"E-SCHEDULE-DEADLOCK", "the order of actions makes no progress"},
    {"E-SCHEDULE-COMM", "sends, receives or gathers that do not fit the actions of a schedule"},
    {"E-SCHEDULE-STAGES", "the schedule needs an even number of stages"},
    {"E-SCHEDULE-PLACEMENT", "the schedule places chunks otherwise than the layout says"},
    {"E-SCHEDULE-CAP", "no order keeps to so few live activations"},
    {"E-SCHEDULE-MEMORY", "no micro-batch size fits the memory to compare at"},
    {"E-SCHEDULE-LIVE", "max_live is for the schedule auto"},
    {"E-COSTS-KEY", "--costs names an unknown cost, one twice, or leaves F or B out"},
    {"E-COSTS-VALUE", "a cost is no number from 0 up, or there is no compute at all"},
    // studies
    {"E-STUDY-KIND", "a study has neither axes nor a search, or both"},
    {"E-STUDY-AXIS", "an axis without values, a range that does not end, a key that varies twice"},
    {"E-STUDY-WHEN", "a condition that cannot be read, or compares what is not alike"},
    {"E-STUDY-NAME", "a study's name that is no name of a file"},
    {"E-STUDY-POINTS", "a study without points, or with too many"},
    {"E-KNOB-NODES", "a sensitivity would change a number of nodes that something else fixes"},
    {"E-KNOB-WHOLE", "a count that a sensitivity scales would not stay whole"},
    {"E-POINT-INTERNAL", "a point of a study failed by a fault of the program"},
    // calibration
    {"E-VERIFY", "a step cannot be verified: another number of ranks, or the simulator refuses it"},
    {"E-BACKEND", "no such backend in this build, or the device or mpirun is missing"},
    {"E-POINTS", "a line of a file of points cannot be read, or repeats a point"},
    {"E-SAMPLE", "a line of a file of samples cannot be read, or repeats a point"},
    {"E-FIT-EMPTY", "no sample takes part in a fit"},
    {"E-IMPORT-FORMAT", "neither text or JSON of nccl-tests or rccl-tests nor a CSV table of known columns"},
    {"E-IMPORT-HEADER", "a table without its header, or with other columns"},
    {"E-IMPORT-ROW", "a row that is cut, too long, or holds what cannot be"},
    {"E-IMPORT-TWO", "a second table in one file, of another group or without a list of its ranks"},
    {"E-IMPORT-RANKS",
     "ranks that are not all listed, hosts that cannot be told apart, groups of different shapes or GPUs, or "
     "ranks that do not divide over nodes"},
    {"E-IMPORT-ONE-RANK", "a collective of one rank"},
    {"E-IMPORT-OP", "an operation that is not named, not known, or not the one that --op names"},
    {"E-IMPORT-BUSBW", "time, size, algbw and busbw contradict, or busbw is 0"},
    // trace and truth
    {"E-TRUTH-ROWS", "a file of measured steps has no list of rows"},
    {"E-TRACE-DIR", "the folder for traces cannot be made"},
    {"E-TRACE-PATH", "the trace cannot be written there"},
    {"E-TRACE-RANKS", "--trace-ranks names ranks that do not exist"},
    // sweeps and stores
    {"E-STORE-FILE", "no store of results, a damaged one, or one that cannot be written"},
    {"E-STORE-VERSION", "a store of another version of the program"},
    {"E-STORE-BUSY", "another sweep writes to the store"},
    {"E-STORE-CONFLICT", "two stores hold different results of one point"},
    {"E-SCORE-FILE", "a file is not what score --json writes, or has no error to take from it"},
    {"E-SCALE-WHOLE", "a number of GPUs fills no whole nodes, or its batch is not whole"},
    {"E-SCALE-MEMORY", "no layout fits in the memory of this number of GPUs"},
    {"E-SWEEP-RANKS", "the ranks of a sweep do not see the same files"},
    {"E-BATCH-LINE", "a line for rehearse batch is no request"},
    {"E-POINT-CRASH", "the process that priced a point died, twice"},
    {"E-POINT-TIME", "a point took longer than the timeout, twice"},
    // pages
    {"E-REPORT-JSON", "a file of JSON that is no result, or not one that a page can show"},
    {"E-REPORT-BUILD", "this build has no page: node or npm was missing"},
    // warnings
    {"W-TP-NODE", "tensor parallel groups leave the NVLink domain"},
    {"W-HEAD-DIM", "a head size that the GEMMs of unfused attention are slow for"},
    {"W-PROFILE-GPU", "the profile is of another GPU than the cluster's"},
    {"W-SEQUENCE", "a sequence longer than the model's"},
    {"W-SCHEDULE-HANG",
     "sends and receives of a schedule's file would hang where both sides must come to them"},
    {"W-PROFILE-RANGE", "a query far outside what the profile was calibrated for"},
    {"W-NO-EFFECT", "a key that changes nothing in this combination"},
    {"W-TRACE-SIZE", "a trace that viewers choke on"},
};

}  // namespace rehearse

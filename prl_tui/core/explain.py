"""Broken rules as sentences: what is wrong, and why it is. Data: a code is one entry."""

from __future__ import annotations

from prl_tui.core.batch import Violation, times
from prl_tui.core.stacks import Stack
from prl_tui.i18n import mark, t

WHAT = {
    "num-generations-divides": mark("{product} = {batch} is not a multiple of {generations} generations."),
    "num-generations-min": mark("GRPO needs at least 2 generations for each prompt, not {value}."),
    "eval-batch-divides": mark("The evaluation batch {product} = {batch} is not a multiple of {generations} generations."),
    "too-few-rows": mark("The data has {rows} {rows:row|rows}, and one generation batch takes {prompts} {prompts:prompt|prompts}."),
    "eval-rows": mark("The validation data has {rows} {rows:row|rows}, and one evaluation batch takes {least} {least:prompt|prompts}."),
    "steps-per-generation-positive": mark("steps_per_generation must be at least 1, not {value}."),
    "generation-batch-divides": mark("generation_batch_size {batch} is not a multiple of per-device batch × processes = {step}."),
    "generation-batch-and-steps": mark("generation_batch_size and steps_per_generation cannot both be set."),
    "generation-batch-agrees": mark("generation_batch_size {batch} does not agree with per-device batch × processes × steps per generation = {product}."),
    "sequence-parallel-divides": mark("Sequence parallel {value} does not divide {world} {world:process|processes}."),
    "global-batch-divides": mark("Global batch {batch} is not a multiple of {product} = {step}."),
    "total-batch-too-small": mark("A total batch of {batch} on {world} {world:process|processes} leaves 0 samples for each."),
    "total-batch-rounds-down": mark("A total batch of {batch} on {world} {world:process|processes} is {each} each: really {real} {real:sample|samples} a step."),
    "accumulation-zero": mark("{batch} // {micro} // {world} = 0: the trainer divides by this accumulation and stops."),
    "batch-rounds-down": mark("The real batch is {product} = {real}, not {batch}."),
    "accumulation-without-effect": mark("Accumulation {given} has no effect: each update takes {real} {real:sample|samples}, though the program prints {said}."),
    "gradients-apart": mark("The {world} processes exchange no gradients: each trains a model of its own on {each} {each:sample|samples} a step, and rank 0's is saved."),
    "no-update": mark("An epoch is {each} {each:batch|batches}, and an update takes {steps}: nothing would be trained."),
    "deepspeed-triple": mark("train_batch_size {batch} is not {product} = {real}."),
    "processes-exceed-gpus": mark("{nproc} {nproc:process needs|processes need} {nproc} {nproc:GPU|GPUs}; {gpus} visible."),
    "node-without-gpu": mark("The node has no GPU, and each process needs one; processes: {nproc}."),
    "devices-repeated": mark("CUDA_VISIBLE_DEVICES={spec} names a GPU twice: torch then sees none."),
    "devices-hidden": mark("CUDA_VISIBLE_DEVICES={spec} hides every GPU: the run is one on the CPU."),
    "devices-unreadable": mark("torch fails on “{item}” in CUDA_VISIBLE_DEVICES={spec}: it is no number."),
    "devices-none": mark("CUDA_VISIBLE_DEVICES={spec} leaves no GPU visible."),
    "devices-cut": mark("torch stops reading CUDA_VISIBLE_DEVICES={spec} at “{item}”; GPUs it sees: {count}."),
    "devices-odd": mark("torch reads CUDA_VISIBLE_DEVICES={spec} as {read}."),
    "devices-mig": mark("CUDA_VISIBLE_DEVICES={spec} lists several MIG instances; a process sees only the first one, {item}."),
    "devices-beyond-node": mark("CUDA_VISIBLE_DEVICES={spec} names GPU {item}, which the node does not have; GPUs that remain visible: {count}."),
    "devices-unknown": mark("“{item}” in CUDA_VISIBLE_DEVICES is no GPU of the node; GPUs that remain visible: {count}."),
    "devices-ambiguous": mark("“{item}” in CUDA_VISIBLE_DEVICES fits several GPUs of the node ({fits}), and torch takes none of them; GPUs that remain visible: {count}."),
    "infer-workers-exceed-processes": mark("{workers} generation workers on {nproc} {nproc:process: only the first gets|processes: only as many get} an engine, and requests to the others are lost."),
    "infer-workers-overlap": mark("{nproc} {nproc:process|processes} and {workers} generation {workers:worker|workers} share {gpus} {gpus:GPU|GPUs}: usually out of memory."),
    "async-generate-shares": mark("async_generate needs GPUs of its own for generation: {nproc} {nproc:process|processes} + {workers} {workers:worker|workers} are more than {gpus} {gpus:GPU|GPUs}."),
    "tensor-parallel-layout": mark("tensor_parallel_size {value} works only where processes, generation workers and visible GPUs are equally many."),
    "vllm-one-gpu-each": mark("GRPO with vLLM needs as many visible GPUs as processes: visible {gpus}, processes {nproc}."),
    "gpus-divide": mark("{gpus} visible {gpus:GPU|GPUs} cannot be shared evenly by {nproc} {nproc:process|processes}."),
    "sharding-one-gpu-each": mark("DeepSpeed needs one GPU for each process: visible {gpus}, processes {nproc}."),
    "node-rank-beyond": mark("node_rank {rank} must be below the number of nodes, {nodes}: they count from 0."),
    "rank-beyond": mark("{name} {rank} must be below the number of processes, {world}: they count from 0."),
    "master-addr-loopback": mark("master_addr {address} is the loopback of each machine: the other nodes cannot meet there."),
    "tensor-parallel-divides": mark("vLLM tensor parallel {tensor_parallel} does not divide {world} {world:process|processes}."),
}  # fmt: skip

WHY = {
    "num-generations-min": mark("A prompt's answers are compared with each other; one answer alone has nothing to be compared with."),
    "eval-batch-divides": mark("Evaluation is on, and it generates by the same rule."),
    "global-batch-divides": mark("Every process takes whole batches, the same number of them."),
    "accumulation-without-effect": mark("The program updates after every batch and only divides the loss by the accumulation; 1 says what happens."),
    "gradients-apart": mark("The program's forward pass goes around DDP, contrary to what its guide says."),
    "sequence-parallel-divides": mark("So many processes share each sequence, and one that is left over stops at the start."),
    "processes-exceed-gpus": mark("Two processes on one GPU end with an NCCL error or out of memory."),
    "infer-workers-overlap": mark("Workers have GPUs of their own where processes + workers are at most as many as the visible GPUs."),
    "node-rank-beyond": mark("The ranks wait for each other for minutes, and then stop."),
    "rank-beyond": mark("The program refuses a rank that does not exist when it starts."),
    "master-addr-loopback": mark("Set it to the address of node 0, as the other nodes see it."),
    "devices-unreadable": mark("torch reads indices such as 0,1, or UUIDs; what begins like a number and is none ends the program with a ValueError."),
    "devices-none": mark("torch reads indices such as 0,1, or UUIDs, and nothing from the first other word on."),
    "devices-unknown": mark("torch looks for a GPU whose UUID begins so, and reads no further where there is none."),
    "devices-ambiguous": mark("A UUID may be cut short as long as it begins that of one GPU alone; torch reads no further."),
    "devices-cut": mark("Only plain indices separated by commas, or UUIDs alone, are read to the end."),
}  # fmt: skip

_FILLS_WITH = mark("The answers to one prompt must fill whole generation batches; with {stack} accumulation counts.")
_FILLS_WITHOUT = mark("The answers to one prompt must fill whole batches; with {stack} accumulation does not count.")


def what(violation: Violation) -> str:
    """What is wrong, in one sentence with its figures."""
    figures = {name: times(value) for name, value in violation.figures}
    return t(WHAT[violation.code], **figures)


def why(violation: Violation, stack: Stack) -> str:
    """The reason behind a rule, in one sentence; "" where the first sentence says it all."""
    if violation.code == "num-generations-divides":
        return t(_FILLS_WITH if stack.accumulation_counts else _FILLS_WITHOUT, stack=stack.said)
    return t(WHY[violation.code]) if violation.code in WHY else ""

"""Measurements for a GPU: functions with a name, whose raw samples the labs show.

    @measurement("matmul_without_synchronize", lab="06", unit="us")
    def matmul_without_synchronize(gpu: Device) -> Samples: ...

registry    what a measurement is, and all there are
device      what a measurement may ask of its GPU; rehearsal: the same without a GPU, at tiny sizes
child       runs one measurement in a process of its own
labNN_...   the measurements, one file a theme

`labbook record` runs them and writes data/recordings/; `helpers.recordings.measured` shows them in a lab.
"""

"""Compiled programs and files of parameters, by the module name that people know."""

from relay.driver.compilation import load_module
from relay.text.param_dict import load_param_dict, save_param_dict

__all__ = ["load_module", "load_param_dict", "save_param_dict"]
